// Asks an altnet device in the network, on iOS 17 or macOS 14, using only Network and CryptoKit. Swift apps that can
// depend on a package use AppClient instead (Docs/integrator/app.md), which does more.
//
// NOT RUN: this project's tests have no Apple system. On Linux a test compiles the part above "A session" with
// swift-crypto in place of CryptoKit, and compares it with vectors.json. It does not compile the session.
import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// An error that the device answered, or the reason why the other side is not the device.
struct DeviceFault: Error {
    let code: String
    let message: String

    static let notTheDevice = DeviceFault(code: "notTheDevice", message: "the other side has not proved its key")
}

/// A pairing code: `key` has the decoded bytes, `certificate` is a SHA-256 digest.
struct DevicePairing {
    let id: String
    let name: String
    let key: SymmetricKey
    let certificate: Data?

    init(_ code: String) throws {
        let parts = code.split(separator: "?", maxSplits: 1)
        var values: [Substring: Data] = [:]
        for item in parts.last?.split(separator: "&") ?? [] {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            values[pair[0]] = Self.decode(pair.last ?? "")
        }
        guard parts.first?.lowercased() == "altnet://pair", values["v"] == Data("1".utf8), let id = values["id"],
            let key = values["key"]
        else { throw DeviceFault(code: "malformed", message: "this is not a pairing code") }
        self.id = String(decoding: id, as: UTF8.self)
        self.key = SymmetricKey(data: key)
        name = values["name"].map { String(decoding: $0, as: UTF8.self) } ?? "owner"
        certificate = values["cert"].map { digits in
            Data(
                stride(from: 0, to: digits.count, by: 2).compactMap {
                    UInt8(String(decoding: digits.dropFirst($0).prefix(2), as: UTF8.self), radix: 16)
                })
        }
    }

    /// Decodes a query value. URLComponents would not do: the key is bytes, not text.
    private static func decode(_ text: Substring) -> Data {
        var bytes = Data()
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%"), let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16) else {
                bytes.append(byte)
                continue
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// - Parameter side: `app` or `device`.
    func openingProof(_ side: String, certificate: Data, deviceNonce: Data, appNonce: Data) -> Data {
        hmac(Data("altnet/1 \(side)".utf8) + certificate + deviceNonce + appNonce + Data(id.utf8))
    }

    func agreementProof(publicKey: Data, nonce: Data) -> Data {
        hmac(Data("altnet/1 key".utf8) + publicKey + nonce + Data(id.utf8))
    }

    /// Seals a password for one place in one request.
    /// - Parameter context: from ``sealContext(place:network:body:)``.
    /// - Returns: the network's member `sealed`.
    func seal(_ password: String, context: String, keyId: String, publicKey: Data) throws -> [String: String] {
        guard password.utf8.count <= 64 else {
            throw DeviceFault(code: "invalidPassword", message: "a password has 64 bytes at most")
        }
        let suite = HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_128)
        var sender = try HPKE.Sender(
            recipientKey: Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey), ciphersuite: suite,
            info: Data("altnet/1 seal".utf8))
        let padded = Data(password.utf8) + Data(count: 64 - password.utf8.count)
        let box = sender.encapsulatedKey + (try sender.seal(padded, authenticating: Data(context.utf8)))
        let proof = hmac(Data("altnet/1 box".utf8) + Data(SHA256.hash(data: Data(context.utf8))) + box)
        var sealed = ["keyId": keyId, "box": box.base64EncodedString(), "proof": proof.base64EncodedString()]
        if name != "owner" { sealed["key"] = name }
        return sealed
    }

    /// Returns the text that binds a box to its purpose.
    /// - Parameter place: `backups.update`, `backups.update home` or `network.switch`.
    func sealContext(place: String, network: [String: Any], body: [String: Any]) -> String {
        let ssid =
            (network["ssidHex"] as? String)?.lowercased()
            ?? (network["ssid"] as? String ?? "").utf8.map { String(format: "%02x", $0) }.joined()
        let address = (network["address"] as? [String: Any]).map { own in
            let servers = (own["nameServers"] as? [String] ?? []).joined(separator: ",")
            return "\(own["address"] as? String ?? "") \(own["gateway"] as? String ?? "") \(servers)"
        }
        let isSwitch = place == "network.switch"
        func number(_ name: String, _ isMeant: Bool) -> String {
            (isMeant ? body[name] as? Int : nil).map(String.init) ?? ""
        }
        func flag(_ value: Any?) -> String { value as? Bool == true ? "1" : "0" }
        return [
            "altnet/1 \(place)", "device=\(id)", "ssid=\(ssid)", "credential=password",
            "security=\(network["security"] as? String ?? "")", "hidden=\(flag(network["hidden"]))",
            "address=\(address ?? "")", "revision=\(number("ifRevision", !isSwitch))",
            "confirmWithin=\(number("confirmWithin", isSwitch))", "joinOnce=\(flag(isSwitch ? body["joinOnce"] : nil))",
            "besideUplink=\(flag(isSwitch ? body["besideUplink"] : nil))",
        ].joined(separator: "\n")
    }

    private func hmac(_ message: Data) -> Data { Data(HMAC<SHA256>.authenticationCode(for: message, using: key)) }
}

// MARK: A session

#if canImport(Network)
    import Network

    /// A session of one request at a time. The app needs NSLocalNetworkUsageDescription in its Info.plist.
    ///
    /// A request ends after 30 seconds, or when its task is cancelled. Both end the session: then open another one.
    actor DeviceSession {
        private static let queue = DispatchQueue(label: "altnet.connection")
        private static let limit = DispatchTimeInterval.seconds(30)
        private let connection: NWConnection
        private var received = Data()
        private var count = 0

        /// SHA-256 digest of the device's certificate. Set before the connection is ready.
        private final class Shown: @unchecked Sendable { var certificate = Data() }

        init(host: String, port: UInt16, pairing: DevicePairing) async throws {
            let (tls, shown) = (NWProtocolTLS.Options(), Shown())
            sec_protocol_options_add_tls_application_protocol(tls.securityProtocolOptions, "altnet")
            sec_protocol_options_set_verify_block(
                tls.securityProtocolOptions,
                { [pin = pairing.certificate] _, trust, complete in
                    let chain = SecTrustCopyCertificateChain(sec_trust_copy_ref(trust).takeRetainedValue())
                    guard let first = (chain as? [SecCertificate])?.first else { return complete(false) }
                    shown.certificate = Data(SHA256.hash(data: SecCertificateCopyData(first) as Data))
                    complete(pin == nil || pin == shown.certificate)  // False: certificateChanged.
                }, DispatchQueue(label: "altnet"))
            connection = NWConnection(
                host: NWEndpoint.Host(host), port: NWEndpoint.Port(rawValue: port) ?? 25863,
                using: NWParameters(tls: tls))
            connection.start(queue: Self.queue)

            do { try await open(pairing, shown.certificate) } catch {
                connection.cancel()
                throw error
            }
        }

        /// Each side proves that it has the key. A proof is valid only for this certificate and this connection.
        private func open(_ pairing: DevicePairing, _ certificate: Data) async throws {
            let greeting = try await receive(until: .now() + Self.limit)
            guard let theirs = Self.bytes(greeting["nonce"]) else { throw DeviceFault.notTheDevice }
            let ours = SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }
            func proof(_ side: String) -> Data {
                pairing.openingProof(side, certificate: certificate, deviceNonce: theirs, appNonce: ours)
            }
            let body = [
                "deviceId": pairing.id, "key": pairing.name, "nonce": ours.base64EncodedString(),
                "proof": proof("app").base64EncodedString(),
            ]
            let opened = try await ask("session.open", JSONSerialization.data(withJSONObject: body))
            let answer = try JSONSerialization.jsonObject(with: opened) as? [String: Any]
            guard Self.bytes(answer?["proof"]) == proof("device") else { throw DeviceFault.notTheDevice }
        }

        /// Sends a request and returns the answer's body; both are JSON. Ignores events that arrive before the answer.
        func ask(_ type: String, _ body: Data = Data("{}".utf8)) async throws -> Data {
            count += 1
            let head = #"{"v":1,"id":"\#(count)","type":"\#(type)","body":"#
            connection.send(content: Data(head.utf8) + body + Data("}\n".utf8), completion: .idempotent)
            let end = DispatchTime.now() + Self.limit
            var answer = try await receive(until: end)
            while answer["event"] != nil { answer = try await receive(until: end) }
            return try JSONSerialization.data(withJSONObject: answer["body"] ?? [:])
        }

        private func receive(until end: DispatchTime) async throws -> [String: Any] {
            while true {
                if let newline = received.firstIndex(of: 10) {
                    let line = received[..<newline]
                    received = Data(received[(newline + 1)...])
                    let message = try JSONSerialization.jsonObject(with: line) as? [String: Any] ?? [:]
                    guard let error = message["error"] as? [String: Any] else { return message }
                    throw DeviceFault(code: "\(error["code"] ?? "")", message: "\(error["message"] ?? "")")
                }
                let timer = DispatchWorkItem { [connection] in connection.cancel() }
                Self.queue.asyncAfter(deadline: end, execute: timer)
                defer { timer.cancel() }
                received += try await withTaskCancellationHandler {
                    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Data, any Error>) in
                        connection.receive(minimumIncompleteLength: 1, maximumLength: 65536) { data, _, _, error in
                            guard let data else {
                                return continuation.resume(throwing: error ?? NWError.posix(.ENOTCONN))
                            }
                            continuation.resume(returning: data)
                        }
                    }
                } onCancel: { [connection] in
                    connection.cancel()
                }
            }
        }

        private static func bytes(_ value: Any?) -> Data? { (value as? String).flatMap { Data(base64Encoded: $0) } }
    }
#endif
