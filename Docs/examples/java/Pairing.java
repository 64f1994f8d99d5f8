import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** A pairing code: {@code key} has the raw bytes, {@code cert} is a SHA-256 or null. */
record Pairing(String id, byte[] key, String name, byte[] cert) {
    static Pairing read(String code) throws Client.DeviceException {
        String[] parts = code.strip().split("\\?", 2);
        Map<String, byte[]> values = new HashMap<>();
        for (String item : parts[parts.length - 1].split("&")) {
            String[] pair = item.split("=", 2);
            values.put(pair[0], decode(pair[pair.length - 1]));
        }
        boolean isCode = parts[0].equalsIgnoreCase("altnet://pair") && "1".equals(text(values.get("v")));
        if (!isCode || !values.containsKey("id") || !values.containsKey("key")) {
            throw new Client.DeviceException("malformed", "this is not a pairing code");
        }
        byte[] cert = values.containsKey("cert") ? HexFormat.of().parseHex(text(values.get("cert"))) : null;
        String name = values.containsKey("name") ? text(values.get("name")) : "owner";
        return new Pairing(text(values.get("id")), values.get("key"), name, cert);
    }

    /** URLDecoder would not do: the key is bytes, not text, and a plus sign is not a space. */
    private static byte[] decode(String text) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) == '%') {
                bytes.write(Integer.parseInt(text.substring(i + 1, i + 3), 16));
                i += 2;
            } else {
                bytes.write(text.charAt(i));
            }
        }
        return bytes.toByteArray();
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    byte[] openingProof(String side, byte[] certificate, byte[] deviceNonce, byte[] appNonce)
            throws GeneralSecurityException {
        return hmac(key, utf8("altnet/1 " + side), certificate, deviceNonce, appNonce, utf8(id));
    }

    byte[] agreementProof(byte[] publicKey, byte[] nonce) throws GeneralSecurityException {
        return hmac(key, utf8("altnet/1 key"), publicKey, nonce, utf8(id));
    }

    static byte[] hmac(byte[] key, byte[]... parts) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        for (byte[] part : parts) mac.update(part);
        return mac.doFinal();
    }

    static byte[] join(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) all.writeBytes(part);
        return all.toByteArray();
    }

    static byte[] random(int count) {
        byte[] bytes = new byte[count];
        new SecureRandom().nextBytes(bytes);
        return bytes;
    }

    static byte[] utf8(String text) { return text.getBytes(StandardCharsets.UTF_8); }

    static String base64(byte[] bytes) { return Base64.getEncoder().encodeToString(bytes); }

    static byte[] bytes(Object base64) { return Base64.getDecoder().decode(String.valueOf(base64)); }
}
