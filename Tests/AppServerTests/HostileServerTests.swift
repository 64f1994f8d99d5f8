import AppClient
import AppProtocol
import Testing

/// Devices that are not there, and others that only look like one.
@Suite struct HostileServerTests {
    @Test func noServerThere() async throws {
        let folder = try SocketFolder()
        let endpoint = Endpoint.unixSocket(path: folder.socket)
        await #expect(throws: ClientError.unreachable(endpoint)) { try await DeviceClient(connectingTo: endpoint) }
        try RawSocket.leaveStaleFile(at: folder.socket)
        await #expect(throws: ClientError.unreachable(endpoint)) { try await DeviceClient(connectingTo: endpoint) }
        #expect("\(ClientError.unreachable(endpoint))".contains("is altnet.service running?"))
        let long = Endpoint.unixSocket(path: "/tmp/" + String(repeating: "x", count: 200))
        await #expect(throws: ClientError.self) { try await DeviceClient(connectingTo: long) }
    }

    @Test(arguments: [
        "garbage\n", "{\"v\":2}\n", "{\"v\":1,\"id\":\"1\",\"ok\":true,\"body\":7}\n",
        "{\"v\":1,\"id\":\"1\",\"ok\":\"yes\"}\n", String(repeating: "x", count: 100_000),
    ])
    func nonsenseIsATypedError(answer: String) async throws {
        try await withImpostor(answering: answer) { client async throws in
            let error = await #expect(throws: ClientError.self) { try await client.startScan() }
            guard case .notUnderstood = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func anAnswerToNoRequestIsIgnored() async throws {
        let strange = #"{"v":1,"id":"999","ok":true,"body":{}}"# + "\n" + #"{"v":1,"news":true}"# + "\n"
        let answer = #"{"v":1,"id":"1","ok":true,"body":{"scanId":4}}"# + "\n"
        try await withImpostor(answering: strange + answer) { client async throws in
            #expect(try await client.startScan().scanId == 4)
        }
    }

    @Test func aConnectionThatEndsFailsWhatWaits() async throws {
        let folder = try SocketFolder()
        let listener = try RawSocket.listening(at: folder.socket)
        let client = try await DeviceClient(
            connectingTo: .unixSocket(path: folder.socket), timeout: .seconds(120))
        var accepted: RawSocket? = try await listener.accepted()
        async let answer = client.network()
        _ = try await accepted?.line()
        accepted = nil
        do {
            _ = try await answer
            Issue.record("an answer out of nowhere")
        } catch {
            #expect(error as? ClientError == .disconnected)
        }
        await #expect(throws: ClientError.disconnected) { try await client.backups() }
    }

    /// Gaps in the numbering are reported, wherever they come from.
    @Test func missingEventsAreAGap() async throws {
        func event(_ seq: Int) -> String {
            #"{"v":1,"event":"signal","seq":\#(seq),"time":"2026-02-03T04:05:06.789Z","body":{"signal":-50}}"# + "\n"
        }
        let subscribed = #"{"v":1,"id":"1","ok":true,"body":{"seq":4,"stream":"x"}}"# + "\n"
        try await withImpostor(answering: subscribed + event(5) + event(9) + event(10)) { client async throws in
            var events = try await client.events().makeAsyncIterator()
            #expect(try await events.next()?.seq == 5)
            #expect(try await events.next()?.body == .gap(Gap(reason: .expired, missed: 3)))
            #expect(try await events.next()?.seq == 9)
            #expect(try await events.next()?.seq == 10)
        }
    }

    private func withImpostor(answering answer: String, _ body: (DeviceClient) async throws -> Void) async throws {
        let folder = try SocketFolder()
        let listener = try RawSocket.listening(at: folder.socket)
        // The impostor answers when it gets its turn, and other tests may have the processors for a while.
        let client = try await DeviceClient(
            connectingTo: .unixSocket(path: folder.socket), timeout: .seconds(120))
        let socket = try await listener.accepted()
        async let answered: Void = {
            _ = try await socket.line()
            try? await socket.send(answer)
        }()
        try await body(client)
        try await answered
        await client.close()
    }
}
