// Asks an altnet device in the network, with only the built-in classes of Java 17. Android has most of them too.
//
//     javac -d classes *.java && java -cp classes Client HOST PORT KEY_FILE TYPE [BODY]
//     such as:  java -cp classes Client 192.0.2.7 25863 lamp.key network.get
//     java -cp classes Client --check ../vectors.json
//
// KEY_FILE holds a pairing code: altnet://pair?v=1&id=...&key=...&cert=... Passwords in BODY are sealed. An error is
// one line, `code: message`, with exit status 1.
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

/** A session with a device. */
final class Client implements AutoCloseable {
    private final Pairing pairing;
    private final SSLSocket socket;
    private final BufferedReader lines;
    private int count;

    /** An error that the device has answered, or the reason why the other side is not the device. */
    static final class DeviceException extends IOException {
        final String code;

        DeviceException(String code, String message) {
            super(message);
            this.code = code;
        }
    }

    /** Accepts any certificate, because no authority vouches for a device. The fingerprint is checked later. */
    private static final class AnyCertificate implements X509TrustManager {
        @Override public void checkClientTrusted(X509Certificate[] chain, String type) { }
        @Override public void checkServerTrusted(X509Certificate[] chain, String type) { }
        @Override public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
    }

    Client(String host, int port, Pairing pairing) throws IOException, GeneralSecurityException {
        this.pairing = pairing;
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {new AnyCertificate()}, null);
        socket = (SSLSocket) context.getSocketFactory().createSocket();
        socket.connect(new InetSocketAddress(host, port), 30_000);
        socket.setSoTimeout(30_000);
        socket.startHandshake();
        Certificate shown = socket.getSession().getPeerCertificates()[0];
        byte[] certificate = MessageDigest.getInstance("SHA-256").digest(shown.getEncoded());
        if (pairing.cert() != null && !Arrays.equals(certificate, pairing.cert())) {
            throw new DeviceException(
                "certificateChanged", "pair again if the device was reset; else this is another host");
        }
        lines = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));

        // Each side proves that it has the key. A proof is valid only for this certificate and this connection.
        byte[] theirs = Pairing.bytes(receive().get("nonce"));
        byte[] ours = Pairing.random(32);
        Map<?, ?> opened = ask("session.open", Json.object(
            "deviceId", pairing.id(), "key", pairing.name(), "nonce", Pairing.base64(ours),
            "proof", Pairing.base64(pairing.openingProof("app", certificate, theirs, ours))));
        byte[] proof = Pairing.bytes(opened.get("proof"));
        if (!MessageDigest.isEqual(proof, pairing.openingProof("device", certificate, theirs, ours))) {
            throw new DeviceException("notTheDevice", "the other side has not proved that it has the key");
        }
    }

    private Map<?, ?> receive() throws IOException {
        String line = lines.readLine();
        if (line == null) throw new IOException("the device has closed the connection");
        Map<?, ?> message = (Map<?, ?>) Json.read(line);
        if (message.get("error") instanceof Map<?, ?> error) {
            throw new DeviceException(String.valueOf(error.get("code")), String.valueOf(error.get("message")));
        }
        return message;
    }

    /** Returns the body of the answer. Skips events that come before it. */
    Map<?, ?> ask(String type, Map<?, ?> body) throws IOException {
        Map<String, Object> request = Json.object("v", 1, "id", String.valueOf(++count), "type", type, "body", body);
        socket.getOutputStream().write((Json.write(request) + "\n").getBytes(StandardCharsets.UTF_8));
        Map<?, ?> answer = receive();
        while (answer.containsKey("event")) answer = receive();
        return (Map<?, ?>) answer.get("body");
    }

    /** Like {@code ask}, for a request with Wi-Fi passwords. The device accepts them only in boxes. */
    Map<?, ?> askSealed(String type, Map<?, ?> body) throws IOException, GeneralSecurityException {
        byte[] nonce = Pairing.random(32);
        Map<?, ?> sealing = ask("key.agree", Json.object("key", pairing.name(), "nonce", Pairing.base64(nonce)));
        byte[] proof = pairing.agreementProof(Pairing.bytes(sealing.get("publicKey")), nonce);
        if (!MessageDigest.isEqual(Pairing.bytes(sealing.get("proof")), proof)) {
            throw new DeviceException("notTheDevice", "the key to seal with is not the device's");
        }
        return ask(type, new Seal(pairing, type, body, sealing, null).body());
    }

    @Override public void close() throws IOException { socket.close(); }

    /** Compares the computed values with the vectors. */
    private static void check(Map<?, ?> vectors) throws IOException, GeneralSecurityException {
        for (Object item : (List<?>) vectors.get("pairing")) {
            Map<?, ?> vector = (Map<?, ?>) item;
            Pairing read = Pairing.read((String) vector.get("code"));
            expect(read.id(), vector.get("deviceId"));
            expect(read.name(), vector.get("name"));
            expect(HexFormat.of().formatHex(read.key()), vector.get("key"));
            expect(read.cert() == null ? null : HexFormat.of().formatHex(read.cert()), vector.get("cert"));
        }
        Map<?, ?> opening = (Map<?, ?>) vectors.get("opening");
        byte[] certificate = MessageDigest.getInstance("SHA-256").digest(Pairing.bytes(opening.get("certificate")));
        for (String side : List.of("app", "device")) {
            byte[] proof = Pairing.read((String) opening.get("code")).openingProof(
                side, certificate, Pairing.bytes(opening.get("deviceNonce")), Pairing.bytes(opening.get("appNonce")));
            expect(Pairing.base64(proof), opening.get(side + "Proof"));
        }
        Map<?, ?> agreement = (Map<?, ?>) vectors.get("agreement");
        byte[] proof = Pairing.read((String) agreement.get("code")).agreementProof(
            Pairing.bytes(agreement.get("publicKey")), Pairing.bytes(agreement.get("nonce")));
        expect(Pairing.base64(proof), agreement.get("proof"));
        for (Object item : (List<?>) vectors.get("sealing")) {
            Map<?, ?> vector = (Map<?, ?>) item;
            Seal seal = new Seal(
                Pairing.read((String) vector.get("code")), (String) vector.get("type"), (Map<?, ?>) vector.get("body"),
                (Map<?, ?>) vector.get("sealing"), HexFormat.of().parseHex((String) vector.get("ephemeralKey")));
            expect(seal.body(), vector.get("sealedBody"));
        }
        System.out.println("ok");
    }

    private static void expect(Object is, Object expected) throws IOException {
        if (!Objects.equals(is, expected)) throw new IOException("not as in the vectors: " + is);
    }

    public static void main(String[] arguments) {
        try {
            if (arguments.length == 2 && arguments[0].equals("--check")) {
                check((Map<?, ?>) Json.read(Files.readString(Path.of(arguments[1]))));
                return;
            }
            if (arguments.length < 4) throw new IOException("HOST PORT KEY_FILE TYPE [BODY] are needed");
            Pairing pairing = Pairing.read(Files.readString(Path.of(arguments[2])));
            String text = arguments.length > 4 ? arguments[4] : "{}";
            Map<?, ?> body = (Map<?, ?>) Json.read(text);
            try (Client client = new Client(arguments[0], Integer.parseInt(arguments[1]), pairing)) {
                boolean isSecret = text.contains("\"password\"");
                System.out.println(Json.write(
                    isSecret ? client.askSealed(arguments[3], body) : client.ask(arguments[3], body)));
            }
        } catch (DeviceException error) {
            System.err.println(error.code + ": " + error.getMessage());
            System.exit(1);
        } catch (IOException | GeneralSecurityException | RuntimeException error) {
            System.err.println("failed: " + error.getMessage());
            System.exit(1);
        }
    }
}
