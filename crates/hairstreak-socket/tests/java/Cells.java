// The other end of every cell of tests/interop/matrix by JeroMQ, as tests/python/cells.py is by libzmq: told the same.

import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.zeromq.SocketType;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

public final class Cells {
    private static final int LONG_MS = 60_000;
    /** Questions asked before the first is answered, but by a REQ. */
    private static final int OUTSTANDING_COUNT = 100;
    private static final ZMQ.Context CONTEXT = ZMQ.context(1);
    /** Who may come: users with their passwords, and CURVE keys. */
    private static final Map<String, String> LOGINS = new ConcurrentHashMap<>();
    private static final Set<String> KEYS = ConcurrentHashMap.newKeySet();
    private static Thread authenticator;

    public static void main(String[] arguments) throws Exception {
        for (String line = readLine(); line != null; line = readLine()) {
            String[] words = line.split(" ");
            String role = words[0];
            ZMQ.Socket end = open(role);
            secure(end, Arrays.copyOfRange(words, 5, words.length));
            join(end, words[1], words[2]);
            line = readLineMeanwhile(end);
            if (line.equals("start")) {
                talk(end, role, words[3], Integer.parseInt(words[4]));
                say("done");
                line = readLine();
            }
            check(line.equals("close"), line);
            end.setLinger(0);
            end.close();
        }
        CONTEXT.term();
    }

    private static ZMQ.Socket open(String role) {
        ZMQ.Socket end = CONTEXT.socket(SocketType.valueOf(role.toUpperCase()));
        end.setSndHWM(0);
        end.setRcvHWM(0);
        end.setSendTimeOut(LONG_MS);
        end.setReceiveTimeOut(LONG_MS);
        if (Set.of("router", "dealer", "req").contains(role)) {
            end.setIdentity("them".getBytes());
        } else if (role.equals("sub")) {
            end.subscribe("t");
        } else if (role.equals("xsub")) {
            end.send(new byte[] {1, 't'});
        }
        return end;
    }

    private static void join(ZMQ.Socket end, String how, String endpoint) {
        if (how.equals("connect")) {
            end.connect(endpoint);
        } else {
            end.bind(endpoint);
            say("bound " + end.getLastEndpoint());
        }
    }

    private static void secure(ZMQ.Socket end, String[] words) {
        if (words[0].endsWith("-server")) {
            authenticate();
            end.setZapDomain("test");
        }
        switch (words[0]) {
            case "plain-client" -> {
                end.setPlainUsername(words[1]);
                end.setPlainPassword(words[2]);
            }
            case "plain-server" -> {
                LOGINS.put(words[1], words[2]);
                end.setPlainServer(true);
            }
            case "curve-client" -> {
                end.setCurveServerKey(words[1].getBytes());
                end.setCurvePublicKey(words[2].getBytes());
                end.setCurveSecretKey(words[3].getBytes());
            }
            case "curve-server" -> {
                end.setCurvePublicKey(words[1].getBytes());
                end.setCurveSecretKey(words[2].getBytes());
                KEYS.add(words[3]);
                end.setCurveServer(true);
            }
            default -> { }
        }
    }

    /** Answers ZAP's questions (RFC 27) from now on. */
    private static void authenticate() {
        if (authenticator != null) {
            return;
        }
        ZMQ.Socket zap = CONTEXT.socket(SocketType.REP);
        zap.bind("inproc://zeromq.zap.01");
        authenticator = new Thread(() -> {
            try {
                while (true) {
                    byte[][] question = receive(zap);
                    boolean known = switch (new String(question[5])) {
                        case "PLAIN" -> new String(question[7]).equals(LOGINS.get(new String(question[6])));
                        case "CURVE" -> KEYS.contains(ZMQ.Curve.z85Encode(question[6]));
                        default -> false;
                    };
                    zap.sendMore(question[0]);
                    zap.sendMore(question[1]);
                    zap.sendMore(known ? "200" : "400");
                    zap.sendMore("");
                    zap.sendMore(known ? "them" : "");
                    zap.send("");
                }
            } catch (ZMQException terminated) {
                zap.close();
            }
        });
        authenticator.setDaemon(true);
        authenticator.start();
    }

    private static void talk(ZMQ.Socket end, String role, String talk, int count) throws IOException {
        boolean publishes = role.endsWith("pub");
        if (talk.equals("send") && publishes) {
            // Until the subscriber has heard something there is no telling that it is subscribed.
            while (System.in.available() == 0) {
                end.send("tsync");
                Thread.onSpinWait();
            }
            readLine();
        }
        if (talk.startsWith("ask")) {
            ask(end, role.equals("req") ? 1 : OUTSTANDING_COUNT, talk.equals("ask_rep"), count);
            return;
        }
        for (int number = 0; number < count; number++) {
            switch (talk) {
                case "echo" -> send(end, receive(end));
                case "send" -> {
                    send(end, message(number));
                    if (publishes) {
                        end.send("u: nobody subscribed to this");
                    }
                }
                default -> expect(receive(end), message(number), number);
            }
        }
    }

    /** A DEALER that asks a REP has to make REQ's envelope itself. */
    private static void ask(ZMQ.Socket end, int outstanding, boolean envelops, int count) {
        for (int first = 0; first < count; first += outstanding) {
            int last = Math.min(count, first + outstanding);
            for (int number = first; number < last; number++) {
                send(end, envelops ? enveloped(message(number)) : message(number));
            }
            for (int number = first; number < last; number++) {
                expect(receive(end), envelops ? enveloped(message(number)) : message(number), number);
            }
        }
    }

    /** As tests/interop/matrix/talk.rs has it. */
    private static byte[][] message(int number) {
        String first = "t" + number;
        if (number % 50 == 0) {
            return new byte[][] {(first + "x".repeat(20_000)).getBytes()};
        }
        if (number % 7 == 0) {
            return new byte[][] {first.getBytes(), {}, "y".repeat(300).getBytes()};
        }
        return new byte[][] {first.getBytes()};
    }

    private static byte[][] enveloped(byte[][] frames) {
        byte[][] all = new byte[frames.length + 1][];
        all[0] = new byte[0];
        System.arraycopy(frames, 0, all, 1, frames.length);
        return all;
    }

    private static void send(ZMQ.Socket end, byte[][] frames) {
        for (int index = 0; index < frames.length; index++) {
            boolean sent = end.send(frames[index], index + 1 < frames.length ? ZMQ.SNDMORE : 0);
            check(sent, "sent in vain");
        }
    }

    private static byte[][] receive(ZMQ.Socket end) {
        byte[][] frames = new byte[0][];
        do {
            frames = Arrays.copyOf(frames, frames.length + 1);
            frames[frames.length - 1] = end.recv();
            check(frames[frames.length - 1] != null, "received in vain");
        } while (end.hasReceiveMore());
        return frames;
    }

    private static void expect(byte[][] received, byte[][] expected, int number) {
        check(Arrays.deepEquals(received, expected), "message " + number + ": " + received.length + " frames");
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }

    /** The next line, or null at the end; byte by byte, so that none is read ahead. */
    private static String readLine() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int letter = System.in.read(); letter != '\n'; letter = System.in.read()) {
            if (letter < 0) {
                return null;
            }
            line.append((char) letter);
        }
        return line.toString();
    }

    /** The next line, and meanwhile the socket does what it has to: subscriptions are sent by its own thread. */
    private static String readLineMeanwhile(ZMQ.Socket end) throws IOException {
        ZMQ.Poller poller = CONTEXT.poller(1);
        poller.register(end, ZMQ.Poller.POLLERR);
        while (System.in.available() == 0) {
            end.getEvents();
            poller.poll(1);
        }
        poller.close();
        return readLine();
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
