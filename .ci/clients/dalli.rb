# Dalli 3 and later speak the meta commands if told to, and the binary protocol by default up to version 4.
require "dalli"

def check(is_so, what)
  abort what unless is_so
end

address, protocol = ARGV
options = { expires_in: 600, socket_timeout: 10, namespace: "test" }
options[:protocol] = protocol.to_sym if protocol
client = Dalli::Client.new(address, options)
values = (0...40).to_h { |number| ["key#{number}", "#{number}," * 2000] }
values.each { |key, value| client.set(key, value) }
check client.get_multi(*values.keys) == values, "get_multi"
check client.get("none").nil?, "an item that there is not"
check !client.add("key1", "x"), "add"
check client.replace("key1", "old"), "replace"
client.set("raw", "old", 0, raw: true)
client.append("raw", "er")
client.prepend("raw", "b")
check client.get("raw", raw: true) == "bolder", "append and prepend"
check client.cas("key1") { |value| value + "er" }, "cas"
check client.get("key1") == "older", "what cas has written"
check client.incr("n", 3, 0, 5) == 5 && client.incr("n", 3) == 8 && client.decr("n", 9) == 0, "numbers"
check client.touch("key1", 100) && client.gat("key1", 50) == "older", "touch"
check client.delete("key1") && client.get("key1").nil?, "delete"
check client.fetch("key1") { "new" } == "new" && client.get("key1") == "new", "fetch"
check client.stats.values.first["curr_items"].to_i > 40, "stats"
client.flush
check client.get("key2").nil?, "flush"
puts "good"
