import AgentModel
import AppProtocol
import Foundation
import JSONValues
import NIOSSL

extension Check {
    static let refusals = [
        secure("plain", "a request in plain text gets no answer") { check in
            let wire = try await check.open(handshake: .plain)
            await wire.send(line: .request(.getNetwork, id: "plain"))
            try await wire.expectNoAnswer(within: .seconds(3))
        },
        secure("silent", "the device sends nothing before the handshake") { check in
            let wire = try await check.open(handshake: .plain)
            try await wire.expectNoAnswer(within: .seconds(1))
        },
        secure("noProof", "a request before session.open is proofRequired, and ends the connection") { check in
            for version in [TLSVersion.tlsv13, .tlsv12] {
                let wire = try await check.open(handshake: .secured(version))
                _ = try Greeting(line: try await wire.line())
                try await wire.ask(.getNetwork).expectRefusal(.proofRequired)
                try await wire.expectEnd(within: .seconds(3))
            }
        },
        secure("longFirstLine", "an endless first line ends the connection") { check in
            let wire = try await check.open(handshake: .secured())
            _ = try Greeting(line: try await wire.line())
            await wire.send(Array(repeating: UInt8(ascii: "a"), count: ProtocolLimits.openingLineLength + 1))
            try await wire.expectEnd(within: .seconds(3))
        },
        secure("wrongKey", "a wrong key is refused as keyRefused") { check in
            try await check.expectRefusal(.keyRefused, opening: .opened(try check.otherKey()))
        },
        secure("longerKey", "a longer and a shortened key are refused as keyRefused") { check in
            let device = try check.key()
            for bytes in device.localKey.withBytes({ [Array($0) + [1], Array($0.prefix($0.count / 2))] }) {
                // Skip keys of less than 16 bytes, which are invalid.
                guard let other = try? device.with(Secret(bytes)) else { continue }
                try await check.expectRefusal(.keyRefused, opening: .opened(other))
            }
        },
        secure("wrongIdentity", "the right key for another device id is keyRefused") { check in
            let device = try check.key()
            for id in [device.deviceId + "x", "harness"] {
                let other = try DeviceKey(deviceId: id, localKey: device.localKey)
                try await check.expectRefusal(.keyRefused, opening: .opened(other))
            }
        },
        secure("unknownName", "the right key under another name is keyRefused") { check in
            let device = try check.key()
            let other = try DeviceKey(
                deviceId: device.deviceId, localKey: device.localKey, name: KeyName("harness-none") ?? .owner)
            try await check.expectRefusal(.keyRefused, opening: .opened(other))
        },
        secure("middleman", "a proof for the certificate of a middleman is keyRefused") { check in
            try await check.expectRefusal(
                .keyRefused, opening: .opened(try check.key(), .tlsv13, .otherCertificate))
        },
        secure("replayed", "a proof that another connection was opened with is keyRefused") { check in
            let device = try check.key()
            guard let nonce = Nonce(Array(repeating: 1, count: Nonce.length)) else { return }
            let transcript = SessionTranscript(
                deviceId: device.deviceId, certificate: device.certificate ?? CertificateFingerprint(of: [0]),
                deviceNonce: nonce, appNonce: nonce)
            let earlier = transcript.opening(named: device.name, with: device.localKey)
            try await check.expectRefusal(.keyRefused, opening: .opened(device, .tlsv13, .replayed(earlier)))
        },
        secure("openedTwice", "session.open on an open session is unsupported") { check in
            let wire = try await check.open()
            let body: JSONValue = [
                "deviceId": "x", "nonce": .text(Data(count: 32).base64EncodedString()),
                "proof": .text(Data(count: 32).base64EncodedString()),
            ]
            try await wire.ask(.openSession, body).expectRefusal(.unsupported, field: "type")
        },
        secure("tls12", "an app can connect with TLS 1.2") { check in
            let wire = try await check.open(handshake: .opened(try check.key(), .tlsv12))
            try await wire.ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
        },
        secure("presharedKey", "a handshake with a pre-shared key fails unless a setting permits it") {
            check in
            let device = try check.key()
            let wire: Wire
            do {
                wire = try await check.open(handshake: .presharedKey(device))
            } catch WireConnectFailure.handshake {
                return
            }
            try await wire.ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
            throw Obstacle("the device accepts a pre-shared key (ALTNET_PRE_SHARED_KEY=yes)")
        },
        secure("owner", "the owner can connect after many wrong keys") { check in
            for _ in 0..<6 {
                try await check.expectRefusal(.keyRefused, opening: .opened(try check.otherKey()))
            }
            let start = ContinuousClock.now
            try await check.open().ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
            let took = ContinuousClock.now - start
            try expect("the owner within 10 s", took < .seconds(10), got: "after \(took)")
        },
        secure("truncated", "the owner can connect after handshakes that break off") { check in
            for length in [0, 1, 5, 6, 40] {
                let wire = try await check.open(handshake: .plain)
                await wire.send(Array(beginningOfHello.prefix(length)))
                await wire.close()
            }
            try await check.open().ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
        },
        secure("halfOpen", "the owner can connect during handshakes that do not end") { check in
            for _ in 0..<20 {
                // Ignore failures, because the device may refuse some of these connections.
                guard let wire = try? await check.open(handshake: .plain) else { continue }
                await wire.write(Array(beginningOfHello))
            }
            try await check.open().ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
        },
    ]

    /// A TLS record that announces a ClientHello and omits its end (RFC 5246, clauses 6.2.1 and 7.4).
    private static let beginningOfHello: [UInt8] =
        [0x16, 0x03, 0x01, 0x01, 0x00, 0x01, 0x00, 0x00, 0xfc, 0x03, 0x03] + Array(repeating: 0x5a, count: 32)

    private static func secure(
        _ name: String, _ title: String, _ body: @escaping @Sendable (CheckRun) async throws -> Void
    ) -> Check {
        Check("security.\(name)", title, section: "session.open") { check in
            guard check.target.isNetwork else { throw Obstacle("needs a device in the network: --device") }
            try check.needsDirectConnection()
            do {
                try await body(check)
            } catch WireConnectFailure.unreachable(let why) {
                throw Deviation("a connection", got: why)
            } catch WireConnectFailure.handshake {
                throw Deviation("a connection with TLS", got: "the device broke off the handshake")
            } catch WireConnectFailure.refused(let error) {
                throw Deviation("an open session", got: "\(error)")
            }
        }
    }
}

extension CheckRun {
    func expectRefusal(_ code: ErrorCode, opening handshake: Handshake) async throws {
        do {
            _ = try await open(handshake: handshake)
        } catch WireConnectFailure.refused(let error) {
            return try expect("the refusal", error.code, is: code)
        }
        throw Deviation("the refusal \(code.rawValue)", got: "an open session")
    }

    /// Returns the device's ID with a wrong key.
    func otherKey() throws -> DeviceKey { try key().with(Secret(text: freshPassword())) }
}

extension DeviceKey {
    fileprivate func with(_ key: Secret) throws -> DeviceKey {
        try DeviceKey(deviceId: deviceId, localKey: key, name: name, certificate: certificate)
    }
}

extension Wire {
    func expectEnd(within limit: Duration) async throws {
        let deadline = ContinuousClock.now + limit
        while true {
            switch try await next(within: deadline - .now) {
            case .closed: return
            case .line: continue
            case .nothing: throw Deviation("the end of the connection within \(limit)", got: "an open one")
            }
        }
    }

    /// Waits for the end of the connection or of the time limit. Accepts any data except a protocol line, such as TLS
    /// alerts.
    fileprivate func expectNoAnswer(within limit: Duration) async throws {
        let deadline = ContinuousClock.now + limit
        while case .line(let line) = try await next(within: deadline - .now) {
            try expect("nothing", JSONValue(line: line)?.object == nil, got: Redaction.printable(line.prefix(200)))
        }
    }
}

extension Check {
    /// Lines that are not requests. The device must answer `malformed`, with the line's ID if it has one.
    static let malformedLines = [
        malformed("notJSON", "text that is not JSON", "hello"),
        malformed("truncated", "truncated JSON", #"{"v":1,"id":"a","type":"#),
        malformed("twoObjects", "two objects on a line", #"{"v":1,"id":"a","type":"network.get"}{}"#),
        malformed("array", "a list", #"[{"v":1,"id":"a","type":"network.get"}]"#),
        malformed("text", "a JSON string", #""network.get""#),
        malformed("number", "a number", "1"),
        malformed("null", "null", "null"),
        malformed("spaces", "a line of spaces", "   "),
        malformed("empty", "an object without members", "{}"),
        malformed("noID", "no id", #"{"v":1,"type":"network.get"}"#),
        malformed("numericID", "an id that is a number", #"{"v":1,"id":7,"type":"network.get"}"#),
        malformed("nullID", "an id that is null", #"{"v":1,"id":null,"type":"network.get"}"#),
        malformed("noVersion", "no version", #"{"id":"a","type":"network.get"}"#, id: "a", field: "v"),
        malformed(
            "textVersion", "a version that is text", #"{"v":"1","id":"a","type":"network.get"}"#, id: "a", field: "v"),
        malformed(
            "fraction", "a version that is not a whole number", #"{"v":1.5,"id":"a","type":"network.get"}"#, id: "a",
            field: "v"),
        malformed("noType", "no type", #"{"v":1,"id":"a"}"#, id: "a", field: "type"),
        malformed("numericType", "a type that is a number", #"{"v":1,"id":"a","type":1}"#, id: "a", field: "type"),
        malformed(
            "noBody", "no body where one is needed", #"{"v":1,"id":"a","type":"switch.get"}"#, id: "a", field: "body"),
        malformed(
            "textBody", "a body that is text", #"{"v":1,"id":"a","type":"switch.get","body":"s-1"}"#, id: "a",
            field: "body"),
        malformed(
            "listBody", "a body that is a list", #"{"v":1,"id":"a","type":"history.get","body":[5]}"#, id: "a",
            field: "body"),
        malformed(
            "wrongMember", "a member of the wrong type",
            #"{"v":1,"id":"a","type":"switch.get","body":{"switchId":12}}"#, id: "a", field: "body.switchId"),
        malformed(
            "hugeNumber", "a number beyond 64 bits",
            #"{"v":1,"id":"a","type":"events.subscribe","body":{"since":99999999999999999999}}"#, id: "a",
            field: "body.since"),
        malformed(
            "endlessNumber", "a number with an extreme exponent",
            #"{"v":1,"id":"a","type":"history.get","body":{"limit":1e400}}"#, id: "a", field: "body.limit"),
        malformed(
            "fractionalEntry", "a list with a number that is not whole",
            #"{"v":1,"id":"a","type":"scan.start","body":{"frequencies":[2412,2417.5]}}"#, id: "a",
            field: "body.frequencies[1]"),
        malformed(
            "textNumber", "text instead of a number",
            #"{"v":1,"id":"a","type":"backups.update","body":{"networks":[],"ifRevision":"5"}}"#, id: "a",
            field: "body.ifRevision", touchesBackups: true),
        malformed(
            "nullNumber", "null instead of a required number",
            #"{"v":1,"id":"a","type":"portal.answer","body":{"id":null,"cancel":true}}"#, id: "a", field: "body.id"),
        malformed(
            "networksNoList", "networks that are not a list",
            #"{"v":1,"id":"a","type":"backups.update","body":{"networks":{}}}"#, id: "a", field: "body.networks",
            touchesBackups: true),
        malformed(
            "noNetworks", "an update without networks", #"{"v":1,"id":"a","type":"backups.update","body":{}}"#, id: "a",
            field: "body.networks", touchesBackups: true),
        malformed(
            "portalBoth", "an answer to a portal that is none",
            #"{"v":1,"id":"a","type":"portal.answer","body":{"id":0,"cancel":true,"values":{}}}"#, id: "a",
            field: "body.values"),
        malformed(
            "portalNumber", "a value for a portal that is a number",
            #"{"v":1,"id":"a","type":"portal.answer","body":{"id":0,"values":{"pin":1234}}}"#, id: "a",
            field: "body.values"),
        malformed(
            "deep", "nesting without end", String(repeating: "[", count: 30_000) + String(repeating: "]", count: 30_000)
        ),
        malformed("deepObject", "objects in objects without end", String(repeating: #"{"a":"#, count: 12_000)),
        malformed(
            "invalidUTF8", "bytes that are not UTF-8",
            Array(#"{"v":1,"id":""#.utf8) + [0xff, 0xc0] + Array(#""}"#.utf8)),
        malformed(
            "surrogate", "half a surrogate pair in UTF-8",
            Array(#"{"v":1,"id":""#.utf8) + [0xed, 0xa0, 0x80] + Array(#"","type":"network.get"}"#.utf8)),
        malformed("zeroByte", "a zero byte", Array(#"{"v":1,"id":"a","type":"network.get"}"#.utf8) + [0]),
        malformed("utf16", "UTF-16", Array(#"{"v":1,"id":"a","type":"network.get"}"#.utf8).flatMap { [$0, 0] }),
        malformed("markup", "another protocol's request", "GET / HTTP/1.1\r"),
    ]

    private static func malformed(
        _ name: String, _ what: String, _ line: String, id: String? = nil, field: String? = nil,
        touchesBackups: Bool = false
    ) -> Check {
        malformed(name, what, Array(line.utf8), id: id, field: field, touchesBackups: touchesBackups)
    }

    private static func malformed(
        _ name: String, _ what: String, _ line: [UInt8], id: String? = nil, field: String? = nil,
        touchesBackups: Bool = false
    ) -> Check {
        Check(
            "lines.malformed.\(name)", "\(what): answered malformed, the connection stays usable", section: "Lines",
            touchesBackups: touchesBackups
        ) { check in
            try await check.refuses(line, .malformed, id: id, field: field)
        }
    }
}

extension Check {
    static let robustness = [
        robust("connections", "connections beyond the limit are refused as busy, the first is served") { check in
            let first = try await check.open()
            try await first.ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
            var refused = 0
            for _ in 0..<64 {
                let wire = try await check.open()
                await wire.send(line: .request(.getNetwork, id: "many"))
                let answer = try await wire.answer()
                switch answer.code {
                case .busy:
                    try answer.expectID(nil)
                    try await wire.expectEnd()
                    refused += 1
                case .tooManyRequests: try await answer.waitAsTold()
                default: try answer.expectSuccess(of: .getNetwork, id: "many")
                }
                if refused == 3 { break }
            }
            try expect("busy, long before the 64th connection", refused == 3, got: "\(refused) times")
            // The device must refuse before it reads any request.
            let silent = try await check.open()
            try await silent.answer().expectRefusal(.busy)
            try await silent.expectEnd()
            try await first.ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
            await check.closeConnections()
            try await check.expectServed()
        },
        robust("abrupt", "many short connections have no lasting effect") { check in
            for _ in 0..<100 { await (try await check.open()).close() }
            try await check.expectServed()
        },
        robust("garbage", "random bytes are answered with errors, or the device closes") { check in
            // Use equal bytes in each run: xorshift64 (Marsaglia, 2003).
            var state: UInt64 = 0x9e37_79b9_7f4a_7c15
            for _ in 0..<10 {
                let wire = try await check.open()
                let bytes = (0..<2000).map { _ in
                    state ^= state << 13
                    state ^= state >> 7
                    state ^= state << 17
                    return UInt8(truncatingIfNeeded: state)
                }
                await wire.send(bytes)
                await wire.finishSending()
                let deadline = ContinuousClock.now + wire.patience
                while case .line(let line) = try await wire.next(within: deadline - .now) {
                    let code = try Answer(line).code
                    try expect(
                        "malformed", code == .malformed || code == .tooManyRequests, got: code?.rawValue ?? "success")
                }
            }
            try await check.expectServed()
        },
        robust("slowReader", "an app that does not read does not block other apps") { check in
            let deaf = try await check.open()
            await deaf.stopReading()
            deaf.flood((0..<5000).flatMap { JSONValue.request(.getHistory, id: "\($0)").line + [UInt8(ascii: "\n")] })
            try await check.expectServed()
        },
        robust("flood", "fast requests are answered, or refused with a time to wait") { check in
            let wire = try await check.open()
            wire.flood(
                (0..<1000).flatMap { JSONValue.request(.getCapabilities, id: "\($0)").line + [UInt8(ascii: "\n")] })
            try await wire.expectAnswersOrRefusal(count: 1000)
            try await check.expectServed()
        },
    ]

    private static func robust(
        _ name: String, _ title: String, _ body: @escaping @Sendable (CheckRun) async throws -> Void
    ) -> Check {
        Check("robustness.\(name)", title, section: "session.open") { check in
            try check.needsDirectConnection()
            try await body(check)
        }
    }
}

extension Wire {
    /// Checks that the device answers requests in order, or refuses them with a time to wait. Then waits for that time.
    ///
    /// This function is not optimised: Swift 6.3.1 crashes while splitting it (LLVM's CoroSplit).
    @_optimize(none)
    fileprivate func expectAnswersOrRefusal(count: Int) async throws {
        var refusal: Answer?
        var number = 0
        while number < count, case .line(let line) = try await next() {
            let answer = try Answer(line)
            try answer.expectID(.text("\(number)"))
            if answer.code == .tooManyRequests {
                refusal = answer
            } else {
                try answer.expectSuccess(of: .getCapabilities, id: nil)
            }
            number += 1
        }
        if let refusal { try await refusal.waitAsTold() }
    }
}

extension CheckRun {
    /// Checks that the device serves a new connection after it has noticed the end of others.
    fileprivate func expectServed() async throws {
        let deadline = ContinuousClock.now + target.patience
        while true {
            let wire = try await open()
            let id = wire.newID()
            let answer = try await wire.exchange(.request(.getNetwork, id: id))
            if answer.code != .busy || .now > deadline { return try answer.expectSuccess(of: .getNetwork, id: id) }
            await pause(.milliseconds(100))
        }
    }
}
