import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.crypto.Cipher;
import javax.crypto.KeyAgreement;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Seals the Wi-Fi passwords of a request. Android has X25519 from API level 33 on. Use Tink before that.
 *
 * @param sealing the answer to key.agree
 * @param ephemeralKey null for a new key for each box; only a check of vectors may use another value
 */
record Seal(Pairing pairing, String type, Map<?, ?> request, Map<?, ?> sealing, byte[] ephemeralKey) {
    Map<?, ?> body() throws GeneralSecurityException {
        if (type.equals("network.switch")) return seal("network.switch", request);
        Map<Object, Object> body = new LinkedHashMap<>(request);
        if (request.get("networks") instanceof List<?> networks) {
            Object[] sealed = networks.toArray();
            for (int i = 0; i < sealed.length; i++) sealed[i] = seal("backups.update", (Map<?, ?>) sealed[i]);
            body.put("networks", Arrays.asList(sealed));
        }
        if (request.get("home") instanceof Map<?, ?> home) body.put("home", seal("backups.update home", home));
        return body;
    }

    private Map<?, ?> seal(String place, Map<?, ?> network) throws GeneralSecurityException {
        if (!(network.get("password") instanceof String password)) return network;
        byte[] text = Pairing.utf8(context(place, network));
        byte[] bytes = Pairing.utf8(password);
        if (bytes.length > 64) throw new IllegalArgumentException("a password has 64 bytes at most");
        byte[] box = hpke(Pairing.bytes(sealing.get("publicKey")), text, Arrays.copyOf(bytes, 64));
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(text);
        byte[] proof = Pairing.hmac(pairing.key(), Pairing.utf8("altnet/1 box"), digest, box);
        Map<String, Object> sealed = Json.object(
            "keyId", sealing.get("keyId"), "box", Pairing.base64(box), "proof", Pairing.base64(proof));
        if (!pairing.name().equals("owner")) sealed.put("key", pairing.name());
        Map<Object, Object> entry = new LinkedHashMap<>(network);
        entry.remove("password");
        entry.put("sealed", sealed);
        return entry;
    }

    /** Returns the text that states the purpose of a box. */
    private String context(String place, Map<?, ?> network) {
        boolean isSwitch = place.equals("network.switch");
        Map<?, ?> options = isSwitch ? request : Map.of();
        String ssid = network.get("ssidHex") instanceof String hex
            ? hex.toLowerCase() : HexFormat.of().formatHex(Pairing.utf8((String) network.get("ssid")));
        String address = "";
        if (network.get("address") instanceof Map<?, ?> own) {
            List<?> servers = own.get("nameServers") instanceof List<?> list ? list : List.of();
            address = text(own.get("address")) + " " + text(own.get("gateway")) + " "
                + String.join(",", servers.toArray(String[]::new));
        }
        return String.join("\n", "altnet/1 " + place, "device=" + pairing.id(), "ssid=" + ssid, "credential=password",
            "security=" + text(network.get("security")), "hidden=" + flag(network.get("hidden")), "address=" + address,
            "revision=" + (isSwitch ? "" : text(request.get("ifRevision"))),
            "confirmWithin=" + text(options.get("confirmWithin")), "joinOnce=" + flag(options.get("joinOnce")),
            "besideUplink=" + flag(options.get("besideUplink")));
    }

    private static String text(Object value) { return value == null ? "" : value.toString(); }

    private static String flag(Object value) { return Boolean.TRUE.equals(value) ? "1" : "0"; }

    // HPKE (RFC 9180) in base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.
    private static final byte[] KEM = "KEM\0\u0020".getBytes(ISO_8859_1);
    private static final byte[] SUITE = "HPKE\0\u0020\0\1\0\1".getBytes(ISO_8859_1);
    private static final byte[] NONE = {};
    // Java reads an X25519 key as one of these prefixes and the 32 bytes (RFC 8410).
    private static final byte[] PUBLIC = HexFormat.of().parseHex("302a300506032b656e032100");
    private static final byte[] PRIVATE = HexFormat.of().parseHex("302e020100300506032b656e04220420");

    private byte[] hpke(byte[] recipient, byte[] aad, byte[] plaintext) throws GeneralSecurityException {
        byte[] ephemeral = ephemeralKey == null ? Pairing.random(32) : ephemeralKey;
        byte[] base = new byte[32];
        base[0] = 9;
        byte[] encapsulated = agree(ephemeral, base);
        byte[] agreed = extract(NONE, KEM, "eae_prk", agree(ephemeral, recipient));
        byte[] shared = expand(agreed, KEM, "shared_secret", Pairing.join(encapsulated, recipient), 32);
        byte[] context = Pairing.join(
            new byte[1], extract(NONE, SUITE, "psk_id_hash", NONE),
            extract(NONE, SUITE, "info_hash", Pairing.utf8("altnet/1 seal")));
        byte[] secret = extract(shared, SUITE, "secret", NONE);
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(
            Cipher.ENCRYPT_MODE, new SecretKeySpec(expand(secret, SUITE, "key", context, 16), "AES"),
            new GCMParameterSpec(128, expand(secret, SUITE, "base_nonce", context, 12)));
        cipher.updateAAD(aad);
        return Pairing.join(encapsulated, cipher.doFinal(plaintext));
    }

    private static byte[] agree(byte[] privateKey, byte[] publicKey) throws GeneralSecurityException {
        KeyFactory factory = KeyFactory.getInstance("X25519");
        PrivateKey own = factory.generatePrivate(new PKCS8EncodedKeySpec(Pairing.join(PRIVATE, privateKey)));
        PublicKey other = factory.generatePublic(new X509EncodedKeySpec(Pairing.join(PUBLIC, publicKey)));
        KeyAgreement agreement = KeyAgreement.getInstance("X25519");
        agreement.init(own);
        agreement.doPhase(other, true);
        return agreement.generateSecret();
    }

    /** Uses zeros for an empty key, which Java does not allow. HMAC gives the same value for both. */
    private static byte[] extract(byte[] salt, byte[] suite, String label, byte[] input)
            throws GeneralSecurityException {
        byte[] key = salt.length == 0 ? new byte[32] : salt;
        return Pairing.hmac(key, Pairing.utf8("HPKE-v1"), suite, Pairing.utf8(label), input);
    }

    private static byte[] expand(byte[] key, byte[] suite, String label, byte[] info, int length)
            throws GeneralSecurityException {
        byte[] size = {0, (byte) length};
        byte[] all = Pairing.hmac(
            key, size, Pairing.utf8("HPKE-v1"), suite, Pairing.utf8(label), info, new byte[] {1});
        return Arrays.copyOf(all, length);
    }
}
