import AgentModel
import AppProtocol

extension Check {
    /// Nobody without the key gets anything.
    static let refusals = [
        secure("plain", "a request in plain text is not answered") { trial in
            let wire = try await trial.open(handshake: .plain)
            await wire.send(line: .request(.getNetwork, id: "plain"))
            try await wire.expectNoAnswer(within: .seconds(3))
        },
        secure("silent", "nothing is said before the handshake") { trial in
            let wire = try await trial.open(handshake: .plain)
            try await wire.expectNoAnswer(within: .seconds(1))
        },
        secure("certificate", "a handshake without the pre-shared key fails") { trial in
            try await trial.expectNoWay(in: .certificate(newestOnly: false))
        },
        secure("tls13", "so does one in TLS 1.3") { trial in
            try await trial.expectNoWay(in: .certificate(newestOnly: true))
        },
        secure("wrongKey", "a handshake with another key fails") { trial in
            let device = try trial.key()
            try await trial.expectNoWay(in: .key(identity: device.deviceId, key: Secret(text: trial.freshPassword())))
        },
        secure("longerKey", "so does one with a key that begins like the right one") { trial in
            let device = try trial.key()
            let longer = device.localKey.withBytes { Secret(Array($0) + [0]) }
            try await trial.expectNoWay(in: .key(identity: device.deviceId, key: longer))
        },
        secure("wrongIdentity", "the right key under another identity fails") { trial in
            let device = try trial.key()
            for identity in [device.deviceId + "x", "harness"] {
                try await trial.expectNoWay(in: .key(identity: identity, key: device.localKey))
            }
        },
        secure("otherCipher", "the right key with another cipher fails") { trial in
            let device = try trial.key()
            for cipher in ["PSK-AES128-CBC-SHA", "PSK-AES256-CBC-SHA", "ECDHE-PSK-AES128-CBC-SHA"] {
                try await trial.expectNoWay(
                    in: .key(identity: device.deviceId, key: device.localKey, ciphers: cipher))
            }
        },
        secure("owner", "after many wrong keys the owner is let in all the same") { trial in
            let device = try trial.key()
            for _ in 0..<6 {
                try await trial.expectNoWay(
                    in: .key(identity: device.deviceId, key: Secret(text: trial.freshPassword())))
            }
            let start = ContinuousClock.now
            try await trial.open().ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
            let took = ContinuousClock.now - start
            try expect("the owner within 10 s", took < .seconds(10), got: "after \(took)")
        },
        secure("truncated", "handshakes that break off leave the owner's way open") { trial in
            for length in [0, 1, 5, 6, 40] {
                let wire = try await trial.open(handshake: .plain)
                await wire.send(Array(beginningOfHello.prefix(length)))
                await wire.close()
            }
            try await trial.open().ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
        },
        secure("halfOpen", "handshakes that never end leave the owner's way open") { trial in
            for _ in 0..<20 {
                // The device may turn some of them away.
                guard let wire = try? await trial.open(handshake: .plain) else { continue }
                await wire.write(Array(beginningOfHello))
            }
            try await trial.open().ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
        },
    ]

    /// A TLS record that announces a ClientHello and does not bring it (RFC 5246, clauses 6.2.1 and 7.4).
    private static let beginningOfHello: [UInt8] =
        [0x16, 0x03, 0x01, 0x01, 0x00, 0x01, 0x00, 0x00, 0xfc, 0x03, 0x03] + Array(repeating: 0x5a, count: 32)

    private static func secure(
        _ name: String, _ title: String, _ body: @escaping @Sendable (Trial) async throws -> Void
    ) -> Check {
        Check("security.\(name)", title, section: "The network") { trial in
            guard trial.target.isNetwork else { throw Obstacle("needs a device in the network: --device") }
            do {
                try await body(trial)
            } catch ConnectFailure.unreachable(let why) {
                throw Deviation("a connection", got: why)
            }
        }
    }
}

extension Trial {
    /// Tries a handshake that must fail, and a request after one that does not.
    fileprivate func expectNoWay(in handshake: Handshake) async throws {
        let wire: Wire
        do {
            wire = try await open(handshake: handshake)
        } catch {
            guard case .handshake = error else { throw error }
            return
        }
        // TLS 1.3 lets a client believe that it is through before the server has said no.
        await wire.send(line: .request(.getNetwork, id: "stranger"))
        try await wire.expectNoAnswer(within: .seconds(3))
    }
}

extension Wire {
    /// Waits for the end, or for so long, and takes anything but a line of the protocol: TLS itself may say goodbye.
    fileprivate func expectNoAnswer(within limit: Duration) async throws {
        let deadline = ContinuousClock.now + limit
        while case .line(let line) = try await next(within: deadline - .now) {
            try expect("nothing", JSONValue(line: line)?.object == nil, got: Redaction.printable(line.prefix(200)))
        }
    }
}
