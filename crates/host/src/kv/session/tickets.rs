//! Names for items that are fetched.

/// Whom an item is for: a client, how many clients had its place before, and which of its answers.
pub type Owner = (u32, u32, u64);

/// The names that are in use.
#[derive(Debug, Default)]
pub struct Tickets {
    owners: Vec<Owner>,
    vacant: Vec<u32>,
}

impl Tickets {
    /// A name for the answer with this number of a client.
    pub fn take(&mut self, (client, generation): (u32, u32), number: u64) -> u32 {
        let owner = (client, generation, number);
        match self.vacant.pop() {
            Some(ticket) => {
                self.owners[ticket as usize] = owner;
                ticket
            }
            None => {
                self.owners.push(owner);
                self.owners.len() as u32 - 1
            }
        }
    }

    /// The name is not needed any more; whom it was for.
    pub fn give_back(&mut self, ticket: u32) -> Owner {
        self.vacant.push(ticket);
        self.owners[ticket as usize]
    }
}
