import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import net.rubyeye.xmemcached.GetsResponse;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.command.BinaryCommandFactory;
import net.rubyeye.xmemcached.utils.AddrUtil;

/** xmemcached, with the text protocol or the binary one. */
public class Xmemcached {
    static void check(boolean isSo, String what) {
        if (!isSo) {
            throw new IllegalStateException(what);
        }
    }

    public static void main(String[] arguments) throws Exception {
        XMemcachedClientBuilder builder = new XMemcachedClientBuilder(AddrUtil.getAddresses(arguments[0]));
        if (arguments[1].equals("binary")) {
            builder.setCommandFactory(new BinaryCommandFactory());
        }
        MemcachedClient client = builder.build();
        client.setOpTimeout(10_000);
        List<String> keys = new ArrayList<>();
        for (int number = 0; number < 40; number++) {
            keys.add("key" + number);
            check(client.set("key" + number, 600, (number + ",").repeat(2000)), "set");
        }
        Map<String, String> found = client.get(keys);
        for (int number = 0; number < 40; number++) {
            check((number + ",").repeat(2000).equals(found.get("key" + number)), "get");
        }
        check(client.get("none") == null, "an item that there is not");
        check(!client.add("key1", 0, "x") && client.replace("key1", 0, "old"), "add and replace");
        check(client.append("key1", "er") && client.prepend("key1", "b"), "append and prepend");
        check("bolder".equals(client.get("key1")), "what they have written");
        GetsResponse<String> value = client.gets("key1");
        check(client.cas("key1", 0, "first", value.getCas()), "cas");
        check(!client.cas("key1", 0, "second", value.getCas()), "cas of a changed item");
        check(client.incr("n", 3, 5) == 5 && client.incr("n", 3) == 8 && client.decr("n", 9) == 0, "numbers");
        check(client.touch("key1", 100) && client.delete("key1"), "touch and delete");
        check(client.get("key1") == null && !client.getStats().isEmpty(), "a deleted item");
        client.flushAll();
        check(client.get("key2") == null, "flush");
        client.shutdown();
        System.out.println("good");
    }
}
