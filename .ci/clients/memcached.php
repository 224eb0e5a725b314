<?php
// PHP's extension memcached, on libmemcached: the text protocol, or the binary one.
[, $host, $port, $binary] = $argv;

function check($is_so, $what) {
    if (!$is_so) {
        fwrite(STDERR, "$what\n");
        exit(1);
    }
}

$client = new Memcached();
$client->setOption(Memcached::OPT_BINARY_PROTOCOL, $binary === "binary");
$client->setOption(Memcached::OPT_COMPRESSION, false);
$client->addServer($host, (int)$port);
$values = [];
for ($number = 0; $number < 40; $number++) {
    $values["key$number"] = str_repeat("$number,", 2000);
}
check($client->setMulti($values, 600), "setMulti");
check($client->getMulti(array_keys($values), Memcached::GET_PRESERVE_ORDER) === $values, "getMulti");
check($client->get("none") === false && $client->getResultCode() === Memcached::RES_NOTFOUND, "an item that there is not");
check(!$client->add("key1", "x") && $client->replace("key1", "old"), "add and replace");
check($client->append("key1", "er") && $client->prepend("key1", "b") && $client->get("key1") === "bolder", "append");
$found = $client->get("key1", null, Memcached::GET_EXTENDED);
check($client->cas($found["cas"], "key1", "first") && !$client->cas($found["cas"], "key1", "second"), "cas");
check($client->set("n", 5) && $client->increment("n", 3) === 8 && $client->decrement("n", 9) === 0, "numbers");
check($client->touch("key1", 100) && $client->delete("key1") && !$client->delete("key1"), "delete");
check(reset($client->getStats())["curr_items"] > 39 && $client->flush() && $client->get("key2") === false, "flush");
echo "good\n";
