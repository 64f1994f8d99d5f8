import AgentModel
import ConnectivitySupport
import DNS
import NIOPosix
import Testing

@testable import Connectivity

@Suite struct ResolverTests {
    private static let long = Duration.seconds(20)

    private func texts(_ addresses: [IPAddress]) -> [String] { addresses.map(\.description) }

    private func look(
        _ network: InterfaceNetwork, _ name: String = "a.example", within limit: Duration = Self.long
    ) async throws -> [String] {
        texts(try await network.addresses(of: name, within: limit))
    }

    @Test func bothKindsOfAddressAreAskedFor() async throws {
        try await withNameServer {
            [.bytes($0.message.answer(addresses: "192.0.2.1", "2001:db8::1", "192.0.2.2"))]
        } _: { network, server in
            let addresses = try await network.addresses(of: "a.example", within: Self.long)
            #expect(texts(addresses) == ["2001:db8::1", "192.0.2.1", "192.0.2.2"])
            #expect(server.queries.count == 2)
            #expect(server.queries.allSatisfy { $0.message.wantsRecursion && !$0.message.isResponse })
        }
    }

    @Test(arguments: ["192.0.2.1", "2001:db8::1"])
    func addressesNeedNoServer(text: String) async throws {
        let network = InterfaceNetwork(
            interface: nil, on: MultiThreadedEventLoopGroup.singleton, announcements: .machine("/nowhere"))
        #expect(try await look(network, text, within: .zero) == [text])
        #expect(try await look(network, "LocalHost.", within: .zero) == ["::1", "127.0.0.1"])
        await #expect(throws: NameFailure.noServers) {
            try await network.addresses(of: "a.example", within: .milliseconds(250))
        }
        await #expect(throws: NameFailure.invalid) { try await network.addresses(of: "a b", within: Self.long) }
    }

    /// After a move the address is there before it is told whom to ask.
    @Test func aNoteThatIsToComeIsWaitedFor() async throws {
        let server = try await FakeNameServer.start { [.bytes($0.message.answer(addresses: "192.0.2.1"))] }
        let network = InterfaceNetwork(
            interface: "lo", on: MultiThreadedEventLoopGroup.singleton, asking: [("127.0.0.1", 9)])
        network.setAnnouncements(NetworkAnnouncements())
        await #expect(throws: NameFailure.noServers) {
            try await network.addresses(of: "a.example", within: .milliseconds(250))
        }
        async let found = look(network)
        async let notes = network.announcements(within: Self.long)
        let address = try #require(IPAddress("127.0.0.1"))
        network.setAnnouncements(
            NetworkAnnouncements(
                nameServers: [NameServer(address, port: server.port)], captivePortalAPI: "https://a.example/"))
        #expect(try await found == ["192.0.2.1"])
        #expect(await notes.captivePortalAPI == "https://a.example/")
        await server.stop()
    }

    @Test func answersAreRememberedUntilForgotten() async throws {
        try await withNameServer { query in
            [.bytes(query.message.answer(addresses: "192.0.2.\(query.number + 1)", "2001:db8::1"))]
        } _: { network, server in
            let first = try await look(network)
            #expect(try await look(network, "A.example.") == first)
            #expect(server.queries.count == 2)
            network.forget()
            let found = try await look(network)
            #expect(found != first)
            #expect(server.queries.count == 4)
        }
    }

    @Test func noSuchNameIsNotRemembered() async throws {
        try await withNameServer {
            [.bytes($0.message.answer(code: $0.number < 2 ? 3 : 0))]
        } _: { network, _ in
            await #expect(throws: NameFailure.unknownName) {
                try await network.addresses(of: "a.example", within: Self.long)
            }
            await #expect(throws: NameFailure.noAddress) {
                try await network.addresses(of: "a.example", within: Self.long)
            }
        }
    }

    /// The second server is asked after a second, and the first again.
    @Test func aSilentServerIsPassedOver() async throws {
        try await withNameServers([{ _ in [] }, { [.bytes($0.message.answer(addresses: "192.0.2.1", "2001:db8::1"))] }])
        {
            network, servers in
            let found = try await look(network)
            #expect(found.count == 2)
            #expect(servers.map(\.queries.count) == [2, 2])
        }
    }

    @Test func aLostDatagramIsSentAgain() async throws {
        try await withNameServer { query in
            query.number < 2 ? [] : [.bytes(query.message.answer(addresses: "192.0.2.1", "2001:db8::1"))]
        } _: { network, server in
            let found = try await look(network)
            #expect(found.count == 2)
            #expect(server.queries.count == 4)
        }
    }

    @Test func aFailingServerIsPassedOverAtOnce() async throws {
        try await withNameServers([
            { [.bytes($0.message.answer(code: 2))] }, { [.bytes($0.message.answer(addresses: "192.0.2.1"))] },
        ]) { network, servers in
            let found = try await look(network)
            #expect(found == ["192.0.2.1"])
            #expect(servers.map(\.queries.count) == [2, 2])
        }
        try await withNameServer {
            [.bytes($0.message.answer(code: 5))]
        } _: { network, _ in
            await #expect(throws: NameFailure.failed(code: 5)) {
                try await network.addresses(of: "a.example", within: Self.long)
            }
        }
    }

    @Test func silenceIsToldAsSuch() async throws {
        try await withNameServer { _ in
            []
        } _: { network, _ in
            await #expect(throws: NameFailure.silent) {
                try await network.addresses(of: "a.example", within: .milliseconds(200))
            }
        }
    }

    /// Its host's ICMP error is not heard: see `NameServerSocket`.
    @Test func aServerThatIsNotThereIsSilent() async throws {
        try await withNameServer { _ in
            []
        } _: { network, server in
            await server.stop()
            await #expect(throws: NameFailure.silent) {
                try await network.addresses(of: "a.example", within: .milliseconds(250))
            }
        }
    }

    /// A server that drops questions for IPv6 delays no caller for long.
    @Test(.timeLimit(.minutes(1))) func theOtherKindIsNotWaitedForForLong() async throws {
        try await withNameServer { query in
            query.type == .ipv6 ? [] : [.bytes(query.message.answer(addresses: "192.0.2.1"))]
        } _: { network, _ in
            let found = try await look(network, within: .seconds(250))
            #expect(found == ["192.0.2.1"])
        }
    }

    @Test func whatDoesNotFitIsAskedByStream() async throws {
        try await withNameServer { query in
            [
                .bytes(
                    query.isStream
                        ? query.message.answer(addresses: "192.0.2.1", "2001:db8::1")
                        : query.message.answer(isTruncated: true))
            ]
        } _: { network, server in
            let found = try await look(network)
            #expect(found.count == 2)
            #expect(server.queries.map(\.isStream).sorted { !$0 && $1 } == [false, false, true, true])
        }
    }

    @Test func aBrokenStreamIsPassedOver() async throws {
        try await withNameServers([
            { $0.isStream ? [.hangUp] : [.bytes($0.message.answer(isTruncated: true))] },
            { [.bytes($0.message.answer(addresses: "192.0.2.1"))] },
        ]) { network, _ in
            let found = try await look(network, within: .seconds(250))
            #expect(found == ["192.0.2.1"])
        }
        // A frame that says it is longer than any message is.
        try await withNameServer {
            $0.isStream ? [.bytesFromElsewhere([0xff, 0xff, 1])] : [.bytes($0.message.answer(isTruncated: true))]
        } _: { network, _ in
            await #expect(throws: NameFailure.self) {
                try await network.addresses(of: "a.example", within: .seconds(250))
            }
        }
    }

    /// A guessed answer is not taken: neither with another id or question, nor from another port.
    @Test func forgeriesAreNotBelieved() async throws {
        try await withNameServer { query in
            let evil = query.message.answer(addresses: "192.0.2.66", "2001:db8::66")
            let question = DNSQuestion(.test("b.example"), query.type ?? .ipv4)
            return [
                .bytesFromElsewhere(evil),
                .bytes(query.message.answer([.address(.test("a.example"), "192.0.2.66")], id: query.message.id &+ 1)),
                .bytes(query.message.answer([.address(.test("a.example"), "192.0.2.66")], question: question)),
                .bytes([0xff]), .bytes(query.message.query),
                .bytes(query.message.answer(addresses: "192.0.2.1", "2001:db8::1")),
            ]
        } _: { network, _ in
            let addresses = try await network.addresses(of: "a.example", within: Self.long)
            #expect(texts(addresses) == ["2001:db8::1", "192.0.2.1"])
        }
    }

    @Test func onlyAForgeryIsSilence() async throws {
        try await withNameServer {
            [.bytesFromElsewhere($0.message.answer(addresses: "192.0.2.66", "2001:db8::66"))]
        } _: { network, _ in
            await #expect(throws: NameFailure.silent) {
                try await network.addresses(of: "a.example", within: .milliseconds(300))
            }
        }
    }

    @Test(arguments: 0..<5)
    func nonsenseIsToldAsSuch(kind: Int) async throws {
        try await withNameServer { query in
            switch kind {
            // Pointers round in a circle, more entries than there are bytes, a flood, an endless chain, and noise.
            case 0: [.bytes(Array(query.message.answer([]).prefix(12)) + [0xc0, 12, 0, 1, 0, 1])]
            case 1: [.bytes(Array(query.message.answer([]).prefix(6)) + [0xff, 0xff, 0xff, 0xff, 0xff, 0xff])]
            case 2: Array(repeating: .bytes([0]), count: 500)
            case 3: [.bytes(query.message.answer([.alias(.test("a.example"), to: .test("a.example"))]))]
            default: [.bytes((0..<300).map { _ in UInt8.random(in: 0...255) })]
            }
        } _: { network, _ in
            await #expect(throws: NameFailure.malformed) {
                try await network.addresses(of: "a.example", within: .milliseconds(500))
            }
        }
    }

    @Test func idsAreNotToBeGuessed() async throws {
        try await withNameServer {
            [.bytes($0.message.answer(addresses: "192.0.2.1"))]
        } _: { network, server in
            for number in 0..<16 { _ = try await network.addresses(of: "n\(number).example", within: Self.long) }
            #expect(Set(server.queries.map(\.message.id)).count > 24)
        }
    }

    @Test func aQuestionCanBeCancelled() async throws {
        try await withNameServer { _ in
            []
        } _: { network, _ in
            let task = Task { try await network.addresses(of: "a.example", within: .seconds(250)) }
            task.cancel()
            await #expect(throws: NameFailure.self) { try await task.value }
        }
    }
}
