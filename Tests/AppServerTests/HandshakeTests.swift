import AgentModel
import AppProtocol
import AppServer
import Foundation
import PipedPrograms
import TestTime
import Testing

/// Clients that do not get through their handshake: wrong keys, no keys, no TLS, half of it. The owner gets in whatever
/// they do.
// covers: seed/one-protocol
@Suite struct HandshakeTests {
    private static let stranger = DeviceKey.key("altnet-7f3c", byte: 8)

    @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n", request(.getNetwork), "\u{16}\u{3}\u{1}", "\u{16}\u{3}\u{3}\u{0}\u{2}xy",
    ])
    func plainTextIsNotAnswered(text: String) async throws {
        let device = FakeDevice()
        let notices = Notices()
        try await withNetworkServer(device, notices: notices) { _, port async throws in
            let socket = try RawSocket.connecting(toPort: port)
            try await socket.send(text)
            socket.finishSending()
            // An alert of TLS at most, and never a line.
            #expect(try await socket.lines().allSatisfy { !$0.contains("{") })
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
        #expect(device.bodies == [.getNetwork])
        #expect(notices.failures.count == 1)
    }

    @Test func aHandshakeThatIsNotFinishedIsGivenUp() async throws {
        let clock = SteppedClock()
        let notices = Notices()
        try await withNetworkServer(clock: clock, notices: notices) { _, port async throws in
            // One that says nothing, and one that sends a byte now and then.
            let silent = try RawSocket.connecting(toPort: port)
            try await clock.sleeps(for: .seconds(10))
            clock.advance(by: .seconds(1))
            let slow = try RawSocket.connecting(toPort: port)
            try await clock.sleeps(for: .seconds(10))
            for byte in TLSBytes.hello.prefix(9) {
                try await slow.send([byte])
                clock.advance(by: .seconds(1))
            }
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
            #expect(try await silent.line() == nil)
            clock.advance(by: .seconds(1))
            #expect(try await slow.line() == nil)
            try await notices.contain {
                if case .rejected(let client) = $0 { client.failure == .tookTooLong } else { false }
            }
        }
    }

    @Test func aServerThatStopsEndsHandshakesToo() async throws {
        let clock = SteppedClock()
        try await withNetworkServer(clock: clock) { server, port async throws in
            let silent = try RawSocket.connecting(toPort: port)
            try await clock.sleeps(for: .seconds(10))
            await server.stop()
            #expect(try await silent.line() == nil)
        }
    }

    /// Every possible place to break a handshake off.
    @Test func truncatedHandshakes() async throws {
        let notices = Notices()
        try await withNetworkServer(notices: notices) { _, port async throws in
            for length in stride(from: 0, through: TLSBytes.hello.count, by: 3) {
                let socket = try RawSocket.connecting(toPort: port)
                try await socket.send(Array(TLSBytes.hello.prefix(length)))
                socket.finishSending()
                _ = try await socket.lines()
            }
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
    }

    @Test func brokenRecordsEndAConnection() async throws {
        let device = FakeDevice()
        try await withNetworkServer(device) { _, port async throws in
            for bytes in [[0x17, 3, 3, 0, 4, 1, 2, 3, 4], [0x17, 3, 3, 0xff, 0xff], [0x15, 3, 3, 0, 2, 2, 40]]
                as [[UInt8]]
            {
                let relay = try await BreakingRelay(to: port)
                let client = try await KeyedClient.connecting(to: relay.port)
                #expect(try await client.ask() == nil)
                // Behind the back of the client's TLS.
                try await relay.inject(bytes)
                #expect(try await client.line() == nil)
                await relay.close()
            }
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
        #expect(device.bodies.count == 4)
    }

    @Test func wrongKeysWaitLongerAndLonger() async throws {
        let clock = SteppedClock()
        let notices = Notices()
        try await withNetworkServer(clock: clock, notices: notices) { _, port async throws in
            let other = try await KeyedClient.connecting(to: port, from: "127.0.0.2")
            for (count, delay) in [0, 250, 500, 1000, 1000].enumerated() {
                let client = try await KeyedClient.connecting(to: port, as: Self.stranger)
                if delay > 0 {
                    try await clock.sleeps(for: .milliseconds(delay))
                    // The server has had time for many a handshake, and has not looked at this one.
                    for _ in 0..<8 { #expect(try await other.ask() == nil) }
                    #expect(notices.failures.count == count)
                    clock.advance(by: .milliseconds(delay))
                }
                #expect(try await client.line() == nil)
            }
            // The owner at another address is not concerned, and at the same one waits once.
            #expect(try await KeyedClient.connecting(to: port, from: "127.0.0.2").ask() == nil)
            let owner = try await KeyedClient.connecting(to: port)
            try await clock.sleeps(for: .seconds(1))
            clock.advance(by: .seconds(1))
            #expect(try await owner.ask() == nil)
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
        #expect(notices.failures == Array(repeating: .wrongKey, count: 5))
        let last = notices.all.compactMap { if case .rejected(let client) = $0 { client } else { nil } }.last
        #expect(last?.wrongKeys == 5)
        #expect(last?.delay == .seconds(1))
    }

    @Test func anotherDevicesIdIsAWrongKey() async throws {
        let clock = SteppedClock()
        let notices = Notices()
        try await withNetworkServer(clock: clock, notices: notices) { _, port async throws in
            let other = DeviceKey.key("altnet-7f3d", byte: 7)
            #expect(try await KeyedClient.connecting(to: port, as: other).line() == nil)
            let owner = try await KeyedClient.connecting(to: port)
            try await clock.sleeps(for: .milliseconds(250))
            clock.advance(by: .milliseconds(250))
            #expect(try await owner.ask() == nil)
        }
        #expect(notices.failures == [.wrongKey])
    }

    @Test func wrongKeysAreForgottenInTime() async throws {
        let clock = SteppedClock()
        try await withNetworkServer(clock: clock) { _, port async throws in
            #expect(try await KeyedClient.connecting(to: port, as: Self.stranger).line() == nil)
            clock.advance(by: AppServer.WrongKeyLimits().memory)
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
    }

    /// Half-open connections take all the room there is, and each owner's gets in for the oldest of them.
    @Test func halfOpenConnectionsGiveWay() async throws {
        var limits = AppServer.LANLimits()
        limits.handshakes = 6
        limits.handshakesPerAddress = 4
        let notices = Notices()
        try await withNetworkServer(limits: limits, notices: notices) { _, port async throws in
            var idle: [RawSocket] = []
            for _ in 0..<40 { idle.append(try RawSocket.connecting(toPort: port)) }
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
            #expect(try await KeyedClient.connecting(to: port, from: "127.0.0.2").ask() == nil)
            #expect(try await idle[0].line() == nil)
        }
        #expect(notices.failures.contains(.crowdedOut))
    }

    /// 10,000 connections that come and go without a word: the owner, connected before or coming now, notices none of
    /// them.
    @Test func tenThousandAttempts() async throws {
        try await withNetworkServer { _, port async throws in
            let owner = try await KeyedClient.connecting(to: port, from: "127.0.0.2")
            for _ in 0..<20 {
                for _ in 0..<500 { _ = try RawSocket.connecting(toPort: port, waiting: false) }
                #expect(try await owner.ask() == nil)
            }
            #expect(try await KeyedClient.connecting(to: port, from: "127.0.0.2").ask() == nil)
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
    }

    /// Handshakes that wait for their back-off fill the room of their address: one more is closed, other addresses do
    /// not notice.
    @Test func whoComesToAFullRoomIsTurnedAway() async throws {
        var limits = AppServer.LANLimits()
        limits.handshakesPerAddress = 2
        let clock = SteppedClock()
        let notices = Notices()
        try await withNetworkServer(limits: limits, clock: clock, notices: notices) { _, port async throws in
            #expect(try await KeyedClient.connecting(to: port, as: Self.stranger).line() == nil)
            let waiting = [
                try await KeyedClient.connecting(to: port), try await KeyedClient.connecting(to: port),
            ]
            #expect(try await RawSocket.connecting(toPort: port).line() == nil)
            #expect(notices.failures == [.wrongKey, .crowdedOut])
            #expect(try await KeyedClient.connecting(to: port, from: "127.0.0.2").ask() == nil)
            try await clock.sleeps(for: .milliseconds(250), by: 2)
            clock.advance(by: .milliseconds(250))
            for client in waiting { #expect(try await client.ask() == nil) }
        }
    }

    /// A log that any host could fill would be one more thing to attack.
    @Test func noticesAreSparing() async throws {
        let clock = SteppedClock()
        let notices = Notices()
        try await withNetworkServer(clock: clock, notices: notices) { _, port async throws in
            for number in 0..<30 {
                let socket = try RawSocket.connecting(toPort: port)
                try await socket.send("nonsense, and more of it\n")
                _ = try? await socket.lines()
                if number == 20 { clock.advance(by: .seconds(10)) }
            }
        }
        let told = notices.all.compactMap { if case .rejected(let client) = $0 { client.unreported } else { nil } }
        #expect(told.count == 11)
        #expect(told.reduce(0, +) == 11)
    }

    @Test(.enabled(if: LocalAddress.besidesLoopback != nil, "this machine has no address but the loopback's"))
    func connectionsToAddressesThatAreGoneAreClosed() async throws {
        let notices = Notices()
        let address = try #require(LocalAddress.besidesLoopback)
        try await withNetworkServer(notices: notices) { server, port async throws in
            let leaving = try await KeyedClient.connecting(to: port, at: address)
            let staying = try await KeyedClient.connecting(to: port)
            #expect(try await leaving.ask() == nil)
            #expect(try await staying.ask() == nil)
            server.addressesChanged(to: ["127.0.0.1", address])
            #expect(try await leaving.ask() == nil)
            server.addressesChanged(to: ["192.0.2.1", "fe80::1%wlan0"])
            #expect(try await leaving.line() == nil)
            #expect(try await staying.ask() == nil)
            #expect(try await KeyedClient.connecting(to: port, at: address).ask() == nil)
        }
        #expect(notices.reasons == [.addressGone])
    }

    @Test func goodbyesAreHalfOfTheConversation() async throws {
        try await withNetworkServer { _, port async throws in
            let client = try await KeyedClient.connecting(to: port)
            try await client.send((0..<20).map { request(.getHistory, id: "\($0)") }.joined())
            client.finishSending()
            for id in 0..<20 { #expect(try answer(await client.line()) == ("\(id)", nil)) }
            #expect(try await client.line() == nil)
        }
    }

    @Test func aPortInUseIsSaid() async throws {
        try await withNetworkServer { _, port async throws in
            let folder = try SocketFolder()
            let second = AppServer(
                unix: UnixListenerSettings(path: folder.socket),
                lan: LANListenerSettings(port: port, credentials: .sample),
                service: FakeDevice(), hub: EventHub())
            await #expect(throws: AppServerError.system(SystemError("listen on port \(port)", errno: 98))) {
                try await second.start()
            }
        }
    }
}

/// What clients that this project did not write see of the door.
@Suite(.enabled(if: PipedProgram.path(of: "openssl") != nil, "openssl is not installed"))
struct TransportTests {
    @Test(arguments: [[], ["-tls1_3"], ["-tls1_2"], ["-alpn", "altnet"], ["-alpn", "other"]])
    func theDeviceGreets(options: [String]) async throws {
        try await withNetworkServer { _, port async throws in
            let client = try await OpenSSLClient.talk(to: port, options, expecting: 2)
            let greeting = try #require(client.lines.first)
            #expect(throws: Never.self) { try Greeting(line: Array(greeting.utf8)) }
            #expect(try answer(client.lines.last) == ("a", .proofRequired))
        }
    }

    @Test(arguments: [
        ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"],
        OpenSSLClient.keyed + ["-tls1_2", "-cipher", "ECDHE-PSK-CHACHA20-POLY1305"],
    ])
    func nothingElseIsSpoken(options: [String]) async throws {
        let device = FakeDevice()
        try await withNetworkServer(device) { _, port async throws in
            let client = try await OpenSSLClient.talk(to: port, options)
            #expect(client.lines == [])
            // The owner is served as before.
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
        #expect(device.bodies == [.getNetwork])
    }

    /// A certificate that an app has pinned will do as the one that it trusts.
    @Test func theCertificateVerifies() async throws {
        let folder = try SocketFolder()
        let certificate = folder.path + "/certificate.pem"
        try DeviceCertificate.sample.pem.withBytes { try Data($0).write(to: URL(fileURLWithPath: certificate)) }
        try await withNetworkServer { _, port async throws in
            let pinned = ["-CAfile", certificate, "-partial_chain", "-verify_return_error"]
            #expect(try await !OpenSSLClient.talk(to: port, pinned).lines.isEmpty)
            #expect(try await OpenSSLClient.talk(to: port, ["-verify_return_error"]).lines == [])
        }
    }

    @Test func bothInternetProtocolsLeadIn() async throws {
        let device = FakeDevice()
        try await withNetworkServer(device) { _, port async throws in
            for host in ["127.0.0.1", "::1"] {
                #expect(try await KeyedClient.connecting(to: port, at: host).ask() == nil)
            }
        }
        #expect(
            device.peers.map { "\($0)".prefix { $0 != "," } } == ["owner at 127.0.0.1", "owner at ::1"])
        #expect(device.peers.map(\.role) == [.manage, .manage])
    }
}

/// The door of before there were certificates, where it is open: TLS 1.2 with the owner's key.
@Suite(.enabled(if: PipedProgram.path(of: "openssl") != nil, "openssl is not installed"))
struct PreSharedKeyTests {
    private let cipher = ["-tls1_2", "-cipher", "ECDHE-PSK-CHACHA20-POLY1305"]

    @Test(arguments: [[], ["-no_ticket"]])
    func theKeyOpens(options: [String]) async throws {
        let device = FakeDevice()
        try await withNetworkServer(device, credentials: .sample.takingPreSharedKey()) { _, port async throws in
            let client = try await OpenSSLClient.talk(to: port, OpenSSLClient.keyed + cipher + options)
            #expect(try answer(client.lines.first) == ("a", nil))
        }
        #expect(device.peers.map(\.role) == [.manage] && device.peers.map(\.key) == [.owner])
    }

    @Test(arguments: [
        ["-psk", "00ff00ff00ff00ff00ff00ff00ff00ff", "-psk_identity", "altnet-7f3c"],
        ["-psk", String(repeating: "07", count: 31), "-psk_identity", "altnet-7f3c"],
        ["-psk", String(repeating: "07", count: 32), "-psk_identity", "altnet-7f3d"],
        ["-psk", String(repeating: "07", count: 32), "-psk_identity", ""],
    ])
    func noOtherKeyDoes(options: [String]) async throws {
        let device = FakeDevice()
        try await withNetworkServer(device, credentials: .sample.takingPreSharedKey()) { _, port async throws in
            let client = try await OpenSSLClient.talk(to: port, options + cipher)
            #expect(client.lines == [])
            // The owner comes by the certificate as well.
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
        #expect(device.bodies == [.getNetwork])
    }

    /// Ids cannot be probed.
    @Test func anotherDevicesIdLooksLikeAWrongKey() async throws {
        try await withNetworkServer(credentials: .sample.takingPreSharedKey()) { _, port async throws in
            var errors: [String] = []
            for identity in ["altnet-7f3c", "altnet-7f3d"] {
                let options = ["-psk", "00ff00ff00ff00ff00ff00ff00ff00ff", "-psk_identity", identity]
                let text = try await OpenSSLClient.talk(to: port, options + cipher).errors
                // Without the addresses in openssl's memory.
                errors.append(text.split(separator: ":").filter { $0.contains("alert") }.joined())
            }
            #expect(errors[0] == errors[1])
            #expect(errors[0].contains("alert"))
        }
    }
}
