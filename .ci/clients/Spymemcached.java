import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import net.spy.memcached.AddrUtil;
import net.spy.memcached.BinaryConnectionFactory;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactory;
import net.spy.memcached.DefaultConnectionFactory;
import net.spy.memcached.MemcachedClient;

/** spymemcached, with the text protocol or the binary one. */
public class Spymemcached {
    static void check(boolean isSo, String what) {
        if (!isSo) {
            throw new IllegalStateException(what);
        }
    }

    public static void main(String[] arguments) throws Exception {
        boolean isBinary = arguments[1].equals("binary");
        ConnectionFactory factory = isBinary ? new BinaryConnectionFactory() : new DefaultConnectionFactory();
        List<InetSocketAddress> addresses = AddrUtil.getAddresses(arguments[0]);
        MemcachedClient client = new MemcachedClient(factory, addresses);
        List<String> keys = new ArrayList<>();
        for (int number = 0; number < 40; number++) {
            keys.add("key" + number);
            check(client.set("key" + number, 600, (number + ",").repeat(2000)).get(), "set");
        }
        Map<String, Object> found = client.getBulk(keys);
        for (int number = 0; number < 40; number++) {
            check((number + ",").repeat(2000).equals(found.get("key" + number)), "get");
        }
        check(client.get("none") == null, "an item that there is not");
        check(!client.add("key1", 0, "x").get() && client.replace("key1", 0, "old").get(), "add and replace");
        CASValue<Object> value = client.gets("key1");
        check(client.append(value.getCas(), "key1", "er").get(), "append");
        check("older".equals(client.get("key1")), "what append has written");
        long unique = client.gets("key1").getCas();
        check(client.cas("key1", unique, "first") == CASResponse.OK, "cas");
        check(client.cas("key1", unique, "second") == CASResponse.EXISTS, "cas of a changed item");
        check(client.set("n", 0, "5").get() && client.incr("n", 3) == 8 && client.decr("n", 9) == 0, "numbers");
        check(client.touch("key1", 100).get() && client.delete("key1").get(), "touch and delete");
        check(client.get("key1") == null, "a deleted item");
        check(!client.getStats().isEmpty() && client.flush().get() && client.get("key2") == null, "flush");
        client.shutdown();
        System.out.println("good");
    }
}
