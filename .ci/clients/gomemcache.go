// gomemcache speaks the text protocol.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/bradfitz/gomemcache/memcache"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func check(isSo bool, what string) {
	if !isSo {
		log.Fatal(what)
	}
}

func main() {
	client := memcache.New(os.Args[1])
	must(client.Ping())
	var keys []string
	value := func(number int) []byte { return bytes.Repeat([]byte(fmt.Sprint(number, ",")), 2000) }
	for number := 0; number < 40; number++ {
		key := fmt.Sprint("key", number)
		keys = append(keys, key)
		must(client.Set(&memcache.Item{Key: key, Value: value(number), Flags: uint32(number), Expiration: 600}))
	}
	items, err := client.GetMulti(keys)
	must(err)
	check(len(items) == 40, "not all items are found")
	for number, key := range keys {
		check(bytes.Equal(items[key].Value, value(number)) && items[key].Flags == uint32(number), key)
	}
	_, err = client.Get("none")
	check(errors.Is(err, memcache.ErrCacheMiss), "an item that there is not")
	check(errors.Is(client.Add(&memcache.Item{Key: "key1", Value: []byte("x")}), memcache.ErrNotStored), "add")
	must(client.Replace(&memcache.Item{Key: "key1", Value: []byte("old")}))
	must(client.Append(&memcache.Item{Key: "key1", Value: []byte("er")}))
	must(client.Prepend(&memcache.Item{Key: "key1", Value: []byte("b")}))
	item, err := client.Get("key1")
	must(err)
	check(string(item.Value) == "bolder", "append and prepend")
	item.Value = []byte("first")
	must(client.CompareAndSwap(item))
	item.Value = []byte("second")
	check(errors.Is(client.CompareAndSwap(item), memcache.ErrCASConflict), "compare and swap")
	must(client.Set(&memcache.Item{Key: "n", Value: []byte("5")}))
	number, err := client.Increment("n", 3)
	must(err)
	check(number == 8, "increment")
	number, err = client.Decrement("n", 9)
	must(err)
	check(number == 0, "decrement")
	must(client.Touch("key1", 100))
	_, err = client.GetAndTouch("key1", 50)
	must(err)
	must(client.Delete("key1"))
	check(errors.Is(client.Delete("key1"), memcache.ErrCacheMiss), "delete")
	must(client.FlushAll())
	_, err = client.Get("key2")
	check(errors.Is(err, memcache.ErrCacheMiss), "flush")
	fmt.Println("good")
}
