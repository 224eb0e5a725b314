// memjs speaks the binary protocol only.
const [, , host, port] = process.argv;
const memjs = require("memjs");
const assert = require("assert");

async function main() {
  const client = memjs.Client.create(`${host}:${port}`, { retries: 0, timeout: 10 });
  for (let number = 0; number < 40; number++) {
    assert.equal(await client.set(`key${number}`, `${number},`.repeat(2000), { expires: 600 }), true);
  }
  for (let number = 0; number < 40; number++) {
    assert.equal((await client.get(`key${number}`)).value.toString(), `${number},`.repeat(2000));
  }
  assert.equal((await client.get("none")).value, null);
  assert.equal(await client.add("key1", "x", { expires: 0 }), false);
  assert.equal(await client.replace("key1", "old", { expires: 0 }), true);
  assert.equal(await client.append("key1", "er"), true);
  // Its prepend sends the opcode of append (0x0e).
  assert.equal((await client.get("key1")).value.toString(), "older");
  assert.equal((await client.increment("n", 3, { initial: 5 })).value, 5);
  assert.equal((await client.increment("n", 3, { initial: 5 })).value, 8);
  assert.equal((await client.decrement("n", 9, { initial: 5 })).value, 0);
  assert.equal(await client.touch("key1", 100), true);
  assert.equal(await client.delete("key1"), true);
  assert.equal(await client.delete("key1"), false);
  assert.equal((await client.get("key1")).value, null);
  await client.flush();
  assert.equal((await client.get("key2")).value, null);
  client.close();
  console.log("good");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
