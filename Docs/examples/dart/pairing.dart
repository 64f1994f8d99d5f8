// Pairing codes, proofs and sealed passwords.
import 'dart:convert';
import 'dart:math';
import 'dart:typed_data';

import 'package:crypto/crypto.dart' as hash;
import 'package:cryptography/cryptography.dart';

List<int> hmac(List<int> key, List<List<int>> parts) =>
    hash.Hmac(hash.sha256, key).convert(parts.expand((part) => part).toList()).bytes;

List<int> sha256(List<int> data) => hash.sha256.convert(data).bytes;

String hex(List<int> bytes) => bytes.map((byte) => byte.toRadixString(16).padLeft(2, '0')).join();

List<int> unhex(String digits) =>
    [for (var i = 0; i + 1 < digits.length; i += 2) int.parse(digits.substring(i, i + 2), radix: 16)];

List<int> randomBytes(int count) {
  final random = Random.secure();
  return List.generate(count, (_) => random.nextInt(256));
}

/// An error that the device has answered, or the reason why the other side is not the device.
class DeviceException implements Exception {
  DeviceException(this.code, this.message);
  final String code, message;
  @override
  String toString() => '$code: $message';
}

/// A pairing code: [key] has the raw bytes, [cert] is a SHA-256 in hexadecimal digits.
class Pairing {
  Pairing(this.id, this.key, this.name, this.cert);
  final String id, name;
  final List<int> key;
  final String? cert;

  factory Pairing.read(String code) {
    final parts = code.trim().split('?');
    final values = <String, List<int>>{};
    for (final item in parts.last.split('&')) {
      final pair = item.split('=');
      values[pair.first] = decode(pair.last);
    }
    final (id, key) = (values['id'], values['key']);
    final isKnown = utf8.decode(values['v'] ?? []) == '1';
    if (parts.first.toLowerCase() != 'altnet://pair' || !isKnown || id == null || key == null) {
      throw DeviceException('malformed', 'this is not a pairing code');
    }
    final (name, cert) = (values['name'], values['cert']);
    return Pairing(
        utf8.decode(id), key, name == null ? 'owner' : utf8.decode(name), cert == null ? null : utf8.decode(cert));
  }

  /// Uri.queryParameters would not do: the key is bytes, not text, and a plus sign is not a space.
  static List<int> decode(String text) {
    final bytes = <int>[];
    for (var i = 0; i < text.length; i++) {
      final isEscape = text[i] == '%';
      bytes.add(isEscape ? int.parse(text.substring(i + 1, i + 3), radix: 16) : text.codeUnitAt(i));
      if (isEscape) i += 2;
    }
    return bytes;
  }

  List<int> openingProof(String side, List<int> certificate, List<int> deviceNonce, List<int> appNonce) =>
      hmac(key, [utf8.encode('altnet/1 $side'), certificate, deviceNonce, appNonce, utf8.encode(id)]);

  List<int> agreementProof(List<int> publicKey, List<int> nonce) =>
      hmac(key, [utf8.encode('altnet/1 key'), publicKey, nonce, utf8.encode(id)]);

  /// Returns the body of a request with its passwords in boxes. [sealing] is the answer to key.agree.
  Future<Map<String, dynamic>> seal(String type, Map<String, dynamic> body, Map<String, dynamic> sealing,
      [List<int>? ephemeral]) async {
    Future<Map<String, dynamic>> box(String place, Map<String, dynamic> network) async {
      final password = network['password'] as String?;
      if (password == null) return network;
      final text = utf8.encode(context(place, network, body));
      final padded = Uint8List(64)..setAll(0, utf8.encode(password));
      final box = await hpke(base64.decode(sealing['publicKey']), ephemeral, text, padded);
      final proof = hmac(key, [utf8.encode('altnet/1 box'), sha256(text), box]);
      final sealed = {
        'keyId': sealing['keyId'], 'box': base64.encode(box), if (name != 'owner') 'key': name,
        'proof': base64.encode(proof),
      };
      return {...network, 'sealed': sealed}..remove('password');
    }

    if (type == 'network.switch') return box('network.switch', body);
    return {
      ...body,
      if (body['networks'] != null)
        'networks': [for (final network in body['networks']) await box('backups.update', network)],
      if (body['home'] != null) 'home': await box('backups.update home', body['home']),
    };
  }

  /// Returns the text that states the purpose of a box.
  String context(String place, Map<String, dynamic> network, Map<String, dynamic> body) {
    final own = network['address'];
    final address = own == null
        ? '' : '${own['address']} ${own['gateway'] ?? ''} ${(own['nameServers'] as List? ?? []).join(',')}';
    final isSwitch = place == 'network.switch';
    final options = isSwitch ? body : const <String, dynamic>{};
    String flag(Object? value) => value == true ? '1' : '0';
    final ssid = (network['ssidHex'] as String?)?.toLowerCase() ?? hex(utf8.encode(network['ssid']));
    return [
      'altnet/1 $place', 'device=$id', 'ssid=$ssid', 'credential=password',
      'security=${network['security'] ?? ''}', 'hidden=${flag(network['hidden'])}',
      'address=$address', 'revision=${isSwitch ? '' : body['ifRevision'] ?? ''}',
      'confirmWithin=${options['confirmWithin'] ?? ''}', 'joinOnce=${flag(options['joinOnce'])}',
      'besideUplink=${flag(options['besideUplink'])}',
    ].join('\n');
  }
}

/// HPKE (RFC 9180) in base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.
Future<List<int>> hpke(List<int> recipient, List<int>? ephemeral, List<int> aad, List<int> plaintext) async {
  final kem = [...utf8.encode('KEM'), 0, 0x20];
  final suite = [...utf8.encode('HPKE'), 0, 0x20, 0, 1, 0, 1];
  List<int> extract(List<int> salt, List<int> suite, String label, List<int> input) =>
      hmac(salt, [utf8.encode('HPKE-v1'), suite, utf8.encode(label), input]);
  List<int> expand(List<int> key, List<int> suite, String label, List<int> info, int length) =>
      hmac(key, [[0, length], utf8.encode('HPKE-v1'), suite, utf8.encode(label), info, [1]]).sublist(0, length);

  final own = await X25519().newKeyPairFromSeed(ephemeral ?? randomBytes(32));
  final encapsulated = (await own.extractPublicKey()).bytes;
  final agreed = await X25519().sharedSecretKey(
      keyPair: own, remotePublicKey: SimplePublicKey(recipient, type: KeyPairType.x25519));
  final shared = expand(extract([], kem, 'eae_prk', await agreed.extractBytes()), kem, 'shared_secret',
      [...encapsulated, ...recipient], 32);
  final context = [
    0, ...extract([], suite, 'psk_id_hash', []), ...extract([], suite, 'info_hash', utf8.encode('altnet/1 seal'))];
  final secret = extract(shared, suite, 'secret', []);
  final box = await AesGcm.with128bits().encrypt(plaintext,
      secretKey: SecretKey(expand(secret, suite, 'key', context, 16)),
      nonce: expand(secret, suite, 'base_nonce', context, 12), aad: aad);
  return [...encapsulated, ...box.cipherText, ...box.mac.bytes];
}
