// Asks an altnet device in the network, from Dart or Flutter (not Flutter for the web: no sockets there).
//
//     dart run client.dart HOST PORT KEY_FILE TYPE [BODY]
//     dart run client.dart --check ../vectors.json
//
// NOT RUN: no test of this project has Dart. The second command compares proofs and boxes with the vectors: run it
// first. KEY_FILE holds a pairing code. Passwords in BODY are sealed. An error is one line, with exit status 1.
import 'dart:async';
import 'dart:convert';
import 'dart:io';

import 'pairing.dart';

/// A session with a device. A request ends after [limit] with a TimeoutException, or by [close] with a SocketException.
class Device {
  Device._(this.pairing, this.socket, this.lines);
  final Pairing pairing;
  final SecureSocket socket;
  final StreamIterator<String> lines;
  int count = 0;

  static const limit = Duration(seconds: 30);

  static Future<Device> open(String host, int port, Pairing pairing) async {
    // Accepts any certificate, because no authority vouches for a device. The fingerprint is checked below.
    final socket = await SecureSocket.connect(host, port, context: SecurityContext(withTrustedRoots: false),
        onBadCertificate: (_) => true, supportedProtocols: ['altnet'], timeout: limit);
    final certificate = sha256(socket.peerCertificate!.der);
    if (pairing.cert != null && pairing.cert != hex(certificate)) {
      socket.destroy();
      throw DeviceException('certificateChanged', 'pair again if the device was reset; else this is another host');
    }
    final lines = StreamIterator(socket.cast<List<int>>().transform(utf8.decoder).transform(const LineSplitter()));
    final device = Device._(pairing, socket, lines);

    try {
      await device.prove(certificate);
    } catch (_) {
      device.close();
      rethrow;
    }
    return device;
  }

  /// Proves on each side that it has the key. A proof is valid only for this certificate and this connection.
  Future<void> prove(List<int> certificate) async {
    final theirs = base64.decode((await receive(DateTime.now().add(limit)))['nonce']);
    final ours = randomBytes(32);
    List<int> proof(String side) => pairing.openingProof(side, certificate, theirs, ours);
    final opened = await ask('session.open', {
      'deviceId': pairing.id, 'key': pairing.name, 'nonce': base64.encode(ours), 'proof': base64.encode(proof('app'))});
    if (opened['proof'] != base64.encode(proof('device'))) {
      throw DeviceException('notTheDevice', 'the other side has not proved that it has the key');
    }
  }

  Future<Map<String, dynamic>> receive(DateTime end) async {
    final hasLine = await lines.moveNext().timeout(end.difference(DateTime.now()), onTimeout: () {
      close();
      throw TimeoutException('the device does not answer', limit);
    });
    if (!hasLine) throw const SocketException('the device has closed the connection');
    final Map<String, dynamic> line = jsonDecode(lines.current);
    final error = line['error'];
    if (error != null) throw DeviceException(error['code'], error['message'] ?? '');
    return line;
  }

  /// Closes the connection, and ends pending waits.
  void close() => socket.destroy();

  /// Returns the body of the answer. Skips events that come before it.
  Future<Map<String, dynamic>> ask(String type, [Map<String, dynamic> body = const {}]) async {
    socket.write('${jsonEncode({'v': 1, 'id': '${++count}', 'type': type, 'body': body})}\n');
    final end = DateTime.now().add(limit);
    var answer = await receive(end);
    while (answer['event'] != null) {
      answer = await receive(end);
    }
    return answer['body'];
  }

  /// Like [ask], for a request with Wi-Fi passwords. The device accepts them only in boxes.
  Future<Map<String, dynamic>> askSealed(String type, Map<String, dynamic> body) async {
    final nonce = randomBytes(32);
    final sealing = await ask('key.agree', {'key': pairing.name, 'nonce': base64.encode(nonce)});
    if (sealing['proof'] != base64.encode(pairing.agreementProof(base64.decode(sealing['publicKey']), nonce))) {
      throw DeviceException('notTheDevice', "the key to seal with is not the device's");
    }
    return ask(type, await pairing.seal(type, body, sealing));
  }
}

/// Compares the computed values with the vectors.
Future<void> check(Map<String, dynamic> vectors) async {
  void expect(Object? value, Object? expected) {
    if (jsonEncode(value) != jsonEncode(expected)) throw FormatException('not as in the vectors: $value');
  }

  for (final vector in vectors['pairing']) {
    final read = Pairing.read(vector['code']);
    expect([read.id, read.name, hex(read.key), read.cert],
        [vector['deviceId'], vector['name'], vector['key'], vector['cert']]);
  }
  final opening = vectors['opening'];
  final certificate = sha256(base64.decode(opening['certificate']));
  for (final side in ['app', 'device']) {
    final proof = Pairing.read(opening['code']).openingProof(
        side, certificate, base64.decode(opening['deviceNonce']), base64.decode(opening['appNonce']));
    expect(base64.encode(proof), opening['${side}Proof']);
  }
  final agreement = vectors['agreement'];
  final proof = Pairing.read(agreement['code']).agreementProof(
      base64.decode(agreement['publicKey']), base64.decode(agreement['nonce']));
  expect(base64.encode(proof), agreement['proof']);
  for (final vector in vectors['sealing']) {
    final pairing = Pairing.read(vector['code']);
    expect(await pairing.seal(vector['type'], vector['body'], vector['sealing'], unhex(vector['ephemeralKey'])),
        vector['sealedBody']);
  }
  print('ok');
}

Future<void> main(List<String> arguments) async {
  try {
    if (arguments.length == 2 && arguments.first == '--check') {
      return await check(jsonDecode(await File(arguments.last).readAsString()));
    }
    final [host, port, keyFile, type, ...rest] = arguments;
    final pairing = Pairing.read(await File(keyFile).readAsString());
    final device = await Device.open(host, int.parse(port), pairing);
    final Map<String, dynamic> body = rest.isEmpty ? {} : jsonDecode(rest.first);
    final isSecret = rest.isNotEmpty && rest.first.contains('"password"');
    final answer = isSecret ? await device.askSealed(type, body) : await device.ask(type, body);
    print(const JsonEncoder.withIndent('  ').convert(answer));
    device.close();
  } catch (error) {
    stderr.writeln(error is DeviceException ? error : 'failed: $error');
    exitCode = 1;
  }
}
