#!/usr/bin/env node
// Asks an altnet device in the network, with nothing but Node's built-in modules (18 or newer).
//
//     client.mjs HOST PORT KEY_FILE TYPE [BODY]     such as:  client.mjs 192.0.2.7 25863 lamp.key network.get
//     client.mjs --check vectors.json
// KEY_FILE holds a pairing code: altnet://pair?v=1&id=...&key=...&cert=... Passwords in BODY are sealed. An error is
// `code: message`, with exit status 1.
import * as crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { connect } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';

const base64 = (bytes) => bytes.toString('base64');
const bytes = (text) => Buffer.from(text, 'base64');
const join = (...parts) => Buffer.concat(parts.map((part) => Buffer.from(part)));
const sha256 = (data) => crypto.createHash('sha256').update(data).digest();
const hmac = (key, ...parts) => crypto.createHmac('sha256', key).update(join(...parts)).digest();
const isEqual = (left, right) => left.length === right.length && crypto.timingSafeEqual(left, right);

const deviceError = (code, message) => Object.assign(new Error(message), { code });

/** A pairing code: `id`, the raw bytes of `key`, the `name` of the key, and `cert`, a SHA-256 or undefined. */
class Pairing {
    constructor(code) {
        const [path, query = ''] = code.trim().split('?');
        // URLSearchParams would not do: the key is bytes, not text, and a plus sign is not a space.
        const unescape = (text) => text.replace(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(`0x${digits}`));
        const value = Object.fromEntries(query.split('&').map((item) => {
            const [name, text = ''] = item.split('=');
            return [name, Buffer.from(unescape(text), 'latin1')];
        }));
        if (path.toLowerCase() !== 'altnet://pair' || String(value.v) !== '1' || !value.id || !value.key) {
            throw deviceError('malformed', 'this is not a pairing code');
        }
        [this.id, this.key] = [String(value.id), value.key];
        this.name = value.name ? String(value.name) : 'owner';
        this.cert = value.cert && Buffer.from(String(value.cert), 'hex');
    }

    openingProof(side, certificate, deviceNonce, appNonce) {
        return hmac(this.key, `altnet/1 ${side}`, certificate, deviceNonce, appNonce, this.id);
    }

    agreementProof(publicKey, nonce) {
        return hmac(this.key, 'altnet/1 key', publicKey, nonce, this.id);
    }

    /** Returns the body of a request with its passwords in boxes. `sealing` is the answer to key.agree. */
    sealedBody(type, body, sealing, ephemeral) {
        const seal = (place, network) => {
            if (network.password === undefined) return network;
            const { password, ...rest } = network;
            const text = context(place, this.id, network, body);
            const padded = Buffer.alloc(64);
            padded.write(password);
            const box = hpke(bytes(sealing.publicKey), ephemeral, 'altnet/1 seal', text, padded);
            const proof = base64(hmac(this.key, 'altnet/1 box', sha256(text), box));
            const name = this.name === 'owner' ? {} : { key: this.name };
            return { ...rest, sealed: { keyId: sealing.keyId, box: base64(box), ...name, proof } };
        };
        if (type === 'network.switch') return seal('network.switch', body);
        const sealed = { ...body };
        if (body.networks) sealed.networks = body.networks.map((network) => seal('backups.update', network));
        if (body.home) sealed.home = seal('backups.update home', body.home);
        return sealed;
    }
}

/** Returns the text that states the purpose of a box. */
function context(place, deviceId, network, body) {
    const ssid = network.ssidHex?.toLowerCase() ?? Buffer.from(network.ssid).toString('hex');
    const { address: own } = network;
    const address = own ? `${own.address} ${own.gateway ?? ''} ${(own.nameServers ?? []).join(',')}` : '';
    const options = place === 'network.switch' ? { ...body, ifRevision: '' } : { ifRevision: body.ifRevision };
    return [
        `altnet/1 ${place}`, `device=${deviceId}`, `ssid=${ssid}`, 'credential=password',
        `security=${network.security ?? ''}`, `hidden=${network.hidden ? 1 : 0}`, `address=${address}`,
        `revision=${options.ifRevision ?? ''}`, `confirmWithin=${options.confirmWithin ?? ''}`,
        `joinOnce=${options.joinOnce ? 1 : 0}`, `besideUplink=${options.besideUplink ? 1 : 0}`,
    ].join('\n');
}

// Node reads an X25519 key as one of these prefixes and the 32 bytes (RFC 8410).
const PUBLIC = Buffer.from('302a300506032b656e032100', 'hex');
const PRIVATE = Buffer.from('302e020100300506032b656e04220420', 'hex');

/** HPKE (RFC 9180) in base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM. */
function hpke(recipient, ephemeral, info, aad, plaintext) {
    const kem = Buffer.from('KEM\x00\x20', 'latin1');
    const suite = Buffer.from('HPKE\x00\x20\x00\x01\x00\x01', 'latin1');
    const extract = (salt, suite, label, input) => hmac(salt, 'HPKE-v1', suite, label, input);
    const expand = (key, suite, label, info, length) =>
        hmac(key, [0, length], 'HPKE-v1', suite, label, info, [1]).subarray(0, length);

    const own = ephemeral ?? crypto.generateKeyPairSync('x25519').privateKey;
    const encapsulated = crypto.createPublicKey(own).export({ format: 'der', type: 'spki' }).subarray(PUBLIC.length);
    const publicKey = crypto.createPublicKey({ key: join(PUBLIC, recipient), format: 'der', type: 'spki' });
    const agreed = extract('', kem, 'eae_prk', crypto.diffieHellman({ privateKey: own, publicKey }));
    const shared = expand(agreed, kem, 'shared_secret', join(encapsulated, recipient), 32);
    const context = join([0], extract('', suite, 'psk_id_hash', ''), extract('', suite, 'info_hash', info));
    const secret = extract(shared, suite, 'secret', '');
    const nonce = expand(secret, suite, 'base_nonce', context, 12);
    const cipher = crypto.createCipheriv('aes-128-gcm', expand(secret, suite, 'key', context, 16), nonce);
    cipher.setAAD(Buffer.from(aad));
    return join(encapsulated, cipher.update(plaintext), cipher.final(), cipher.getAuthTag());
}

/** A session with a device. */
class Device {
    #count = 0;

    static async open(host, port, pairing) {
        const device = new Device();
        device.pairing = pairing;
        // The fingerprint is checked below.
        device.socket = connect({ host, port, rejectUnauthorized: false, ALPNProtocols: ['altnet'] });
        device.socket.setTimeout(30_000, () => device.socket.destroy(new Error('the device does not answer')));
        await new Promise((resolve, reject) => device.socket.once('secureConnect', resolve).on('error', reject));
        const certificate = sha256(device.socket.getPeerCertificate().raw);
        if (pairing.cert && !pairing.cert.equals(certificate)) {
            throw deviceError('certificateChanged', 'pair again if the device was reset; else this is another host');
        }
        device.lines = createInterface({ input: device.socket })[Symbol.asyncIterator]();

        // Each side proves that it has the key. A proof is valid only for this certificate and this connection.
        const [theirs, ours] = [bytes((await device.receive()).nonce), crypto.randomBytes(32)];
        const proof = (side) => pairing.openingProof(side, certificate, theirs, ours);
        const opened = await device.ask('session.open', {
            deviceId: pairing.id, key: pairing.name, nonce: base64(ours), proof: base64(proof('app')) });
        if (!isEqual(bytes(opened.proof), proof('device'))) {
            throw deviceError('notTheDevice', 'the other side has not proved that it has the key');
        }
        return device;
    }

    async receive() {
        const { value, done } = await this.lines.next();
        if (done) throw new Error('the device has closed the connection');
        const line = JSON.parse(value);
        if (line.error) throw deviceError(line.error.code, line.error.message);
        return line;
    }

    /** Returns the body of the answer. Skips events that come before it. */
    async ask(type, body) {
        this.socket.write(JSON.stringify({ v: 1, id: String(++this.#count), type, body }) + '\n');
        let answer = await this.receive();
        while (answer.event) answer = await this.receive();
        return answer.body;
    }

    /** Like `ask`, for a request with Wi-Fi passwords. The device accepts them only in boxes. */
    async askSealed(type, body) {
        const nonce = crypto.randomBytes(32);
        const sealing = await this.ask('key.agree', { key: this.pairing.name, nonce: base64(nonce) });
        if (!isEqual(bytes(sealing.proof), this.pairing.agreementProof(bytes(sealing.publicKey), nonce))) {
            throw deviceError('notTheDevice', 'the key to seal with is not the device\'s');
        }
        return this.ask(type, this.pairing.sealedBody(type, body, sealing));
    }
}

/** Compares the values that this file computes with the vectors. */
function check({ pairing, opening, agreement, sealing }) {
    const expect = (...both) => { if (!isDeepStrictEqual(...both)) throw new Error(`differs: ${both}`); };
    for (const { code, deviceId, name, key, cert } of pairing) {
        const read = new Pairing(code);
        expect([read.id, read.name], [deviceId, name]);
        expect([read.key.toString('hex'), read.cert?.toString('hex')], [key, cert]);
    }
    const parts = [sha256(bytes(opening.certificate)), bytes(opening.deviceNonce), bytes(opening.appNonce)];
    for (const side of ['app', 'device']) {
        const proof = new Pairing(opening.code).openingProof(side, ...parts);
        expect(base64(proof), opening[`${side}Proof`]);
    }
    const proof = new Pairing(agreement.code).agreementProof(bytes(agreement.publicKey), bytes(agreement.nonce));
    expect(base64(proof), agreement.proof);
    for (const { code, type, body, sealing: key, ephemeralKey, sealedBody } of sealing) {
        const key8 = join(PRIVATE, Buffer.from(ephemeralKey, 'hex'));
        const ephemeral = crypto.createPrivateKey({ key: key8, format: 'der', type: 'pkcs8' });
        expect(new Pairing(code).sealedBody(type, body, key, ephemeral), sealedBody);
    }
    return 'ok';
}

try {
    const [host, port, keyFile, type, body] = process.argv.slice(2);
    if (host === '--check') {
        console.log(check(JSON.parse(readFileSync(port, 'utf8'))));
    } else {
        const device = await Device.open(host, Number(port), new Pairing(readFileSync(keyFile, 'utf8')));
        const ask = body?.includes('"password"') ? device.askSealed : device.ask;
        console.log(JSON.stringify(await ask.call(device, type, body && JSON.parse(body)), null, 2));
        device.socket.end();
    }
} catch (error) {
    console.error(`${error.code ?? 'failed'}: ${error.message}`);
    process.exit(1);
}
