import AgentModel
import AppProtocol
import Foundation
import Terminal
import Testing

/// The wording of the network's connectivity.
@Suite struct ConnectivityCommandTests {
    private static func broker(_ state: ConnectionState, _ reason: ReachProblem? = nil) -> TargetStatus {
        TargetStatus(
            name: "broker", host: "mqtt.example.com", port: 8883, state: state, reason: reason, since: Sample.ago(12))
    }

    private func sentence(_ connectivity: Connectivity?, uplink: Uplink? = .wifi, style: Style = Style()) async throws
        -> String
    {
        let device = try ScriptedDevice {
            $0.network.signal = -61
            $0.network.uplink = uplink
            if uplink != .wifi { $0.network.state = .offline }
            $0.network.connectivity = connectivity
        }
        let run = try await CommandRun.altnet(["status"], device: device, style: style)
        #expect(run.status == 0)
        return run.output.components(separatedBy: "\n  ")[0]
    }

    @Test(arguments: [
        (
            Connectivity(internet: .yes, targets: [broker(.waiting, .connectionRefused)]),
            ["internet: yes", "broker: ", "for 12 s", "(connection refused)"]
        ),
        (Connectivity(internet: .yes, targets: [broker(.ready)]), ["internet: yes", "broker: answering"]),
        (Connectivity(internet: .yes, targets: [broker(.preparing)]), ["broker: connecting", "12 s"]),
        (Connectivity(internet: .no, problem: .nameServerSilent), ["internet: no (", "name server"]),
        (Connectivity(internet: .unknown, problem: .gatewaySilent), ["internet: not known", "gateway"]),
        (Connectivity(), ["internet: not known"]),
    ])
    func statusIsASentence(connectivity: Connectivity, parts: [String]) async throws {
        let sentence = try await sentence(connectivity)
        #expect(sentence.hasPrefix("Connected to HomeNet"))
        for part in parts { #expect(sentence.contains(part)) }
        #expect(sentence.contains("broker") == !connectivity.targets.isEmpty)
    }

    @Test func anOlderDeviceSaysNothingOfIt() async throws {
        #expect(try await sentence(nil).hasSuffix("(-61 dBm, good)"))
    }

    @Test func withoutANetworkThereIsNoInternetToTellOf() async throws {
        let offline = try await sentence(Connectivity(targets: [Self.broker(.waiting, .noAddress)]), uplink: nil)
        #expect(offline.contains("broker: ") && offline.contains("(no address)") && !offline.contains("internet"))
        #expect(try await sentence(Connectivity(internet: .yes), uplink: .wired).hasSuffix("internet: yes"))
    }

    @Test(arguments: [
        (Portal.State.inactive, true), (.presentingUI, true), (.evaluating, false), (.authenticating, false),
        (.authenticated, true), (.maintaining, false),
    ])
    func whatAPersonHasToDoIsSaid(state: Portal.State, isWanted: Bool) async throws {
        let portal = Portal(url: "https://portal.example.net/\u{1b}[2J", state: state)
        let sentence = try await sentence(Connectivity(internet: .captive, portal: portal))
        #expect(sentence.contains("internet: sign-in needed"))
        #expect(sentence.contains("https://portal.example.net/\\x1b[2J") == isWanted)
        #expect(sentence.contains("'altnet portal'") == isWanted)
    }

    @Test func colourIsForATerminal() async throws {
        let connectivity = Connectivity(internet: .yes, targets: [Self.broker(.failed, .connectionReset)])
        let parts = try await sentence(connectivity, style: Style(hasColour: true)).components(separatedBy: "; ")
        #expect(parts.map { $0.prefix(5) } == ["\u{1b}[32m", "\u{1b}[32m", "\u{1b}[31m"])
        #expect(parts.allSatisfy { $0.hasSuffix("\u{1b}[0m") })
    }

    @Test func namesFromOutsideMoveNothing() async throws {
        var target = Self.broker(.ready)
        target.name = "a\u{1b}[31m"
        #expect(try await sentence(Connectivity(internet: .yes, targets: [target])).hasSuffix("a\\x1b[31m: answering"))
    }

    @Test func statusAsJSONHasAllOfIt() async throws {
        let connectivity = Connectivity(
            level: .internet, required: .target, internet: .yes, targets: [Self.broker(.waiting, .timedOut)],
            reachability: [.reachable, .isDirect])
        let device = try ScriptedDevice { $0.network.connectivity = connectivity }
        let run = try await CommandRun.altnet(["status", "--json"], device: device)
        let document = try JSONDecoder().decode([String: NetworkStatus?].self, from: networkOnly(run.output))
        #expect(document["network"] == device.network)
        #expect(run.output.contains("\"online\" : false"))
    }

    private func networkOnly(_ json: String) throws -> Data {
        let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        return try JSONSerialization.data(withJSONObject: ["network": object?["network"] as Any])
    }

    @Test(.timeLimit(.minutes(5))) func watchTellsOfIt() async throws {
        let device = try ScriptedDevice()
        async let watching = CommandRun.altnet(["watch", "--count", "4"], device: device)
        // It asks once it has subscribed.
        try await device.isAsked(.getNetwork)
        device.hub.publish(.targetChanged(Self.broker(.waiting, .connectionRefused)))
        device.hub.publish(.targetChanged(Self.broker(.ready)))
        device.hub.publish(.portalRequest(try PortalCommandTests.request()))
        device.hub.publish(.portalEnded(PortalEnded(id: 4)))
        let lines = try await watching.output.split(separator: "\n").map { $0.dropFirst("00:00:00  ".count) }
        try #require(lines.count == 5)
        #expect(lines.dropFirst().map { $0.prefix(10) } == ["target    ", "target    ", "sign-in   ", "sign-in   "])
        #expect(lines[1].hasSuffix("(connection refused)") && lines[2].hasSuffix("broker: answering"))
        #expect(lines[3].contains("Cafe") && lines[3].contains("Sign in\\x1b") && lines[3].contains("'altnet portal'"))
    }
}

/// Faults, and their remedies.
@Suite struct DiagnoseTests {
    private static let steps = [
        Diagnosis.Step(layer: .radio, result: .good, found: "wlan0 is up"),
        Diagnosis.Step(
            layer: .association, result: .doubtful, found: "Ho\u{1b}me, -78 dBm: weak", remedy: "Move it closer."),
        Diagnosis.Step(layer: .internet, result: .skipped, found: "no source of validation is set"),
    ]
    private static let broken = Diagnosis.Step(
        layer: .target, result: .broken, found: "broker: connection refused", remedy: "Check that the server runs.")

    @Test func eachLayerIsALine() async throws {
        let device = try ScriptedDevice { $0.diagnosis = Diagnosis(steps: Self.steps + [Self.broken]) }
        let run = try await CommandRun.altnet(["diagnose"], device: device)
        #expect(run.status == 1)
        #expect(
            run.output == """
                ✓ Radio        wlan0 is up
                ! Association  Ho\\x1bme, -78 dBm: weak
                               → Move it closer.
                - Internet     no source of validation is set
                ✗ Server       broker: connection refused
                               → Check that the server runs.

                Broken: server.

                """)
        // A user at a terminal sees the progress.
        #expect(run.errors.hasPrefix("  ") && run.errors.hasSuffix("...\n"))
    }

    @Test(arguments: [
        ([Diagnosis.Result.good, .skipped], Int32(0), "Nothing is broken."),
        ([.good, .doubtful], 0, "; association could be"),
        ([.broken, .broken], 1, "Broken: radio."), ([.doubtful, .broken], 1, "Broken: association."),
    ])
    func theExitStatusSaysWhetherItIsBroken(results: [Diagnosis.Result], status: Int32, verdict: String) async throws {
        let steps = zip([Diagnosis.Layer.radio, .association], results).map {
            Diagnosis.Step(layer: $0, result: $1, found: "x")
        }
        let device = try ScriptedDevice { $0.diagnosis = Diagnosis(steps: steps) }
        let run = try await CommandRun.altnet(["diagnose"], device: device, style: Style(isUnicode: false))
        #expect(run.status == status)
        #expect(run.output.contains(verdict))
        #expect(run.output == run.output.ascii)
        let json = try await CommandRun.altnet(["diagnose", "--json"], device: device)
        #expect(json.status == status)
        #expect(try JSONDecoder().decode(Diagnosis.self, from: Data(json.output.utf8)).steps == steps)
    }

    @Test func aDeviceInTheNetworkIsAskedTheSame() async throws {
        let device = try ScriptedDevice { $0.diagnosis = Diagnosis(steps: [Self.broken]) }
        let run = try await CommandRun.remote(["diagnose"], device: device)
        #expect(run.status == 1)
        #expect(run.output.hasPrefix("✗ Server"))
    }

    /// The example in Docs/user/troubleshooting.md is the output for the answer in Docs/reference/protocol.md.
    @Test func asInTheDocuments() async throws {
        let docs = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Docs")
        let lines = try String(contentsOf: docs.appendingPathComponent("reference/protocol.md"), encoding: .utf8)
            .split(separator: "\n")
        let answer = try #require(lines.first { $0.contains(#""layer":"radio""#) }?.dropFirst(3))
        struct Answer: Decodable { let body: Diagnosis }
        let diagnosis = try JSONDecoder().decode(Answer.self, from: Data(answer.utf8)).body
        let device = try ScriptedDevice { $0.diagnosis = diagnosis }
        let run = try await CommandRun.altnet(["diagnose"], device: device)
        let shown = run.output.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
        let page = docs.appendingPathComponent("user/troubleshooting.md")
        #expect(try String(contentsOf: page, encoding: .utf8).contains(shown))
    }

    @Test func anOlderDeviceIsNamedAsSuch() async throws {
        let device = try ScriptedDevice { $0.errors = [ProtocolError(.unknownType, "not known")] }
        #expect(try await CommandRun.altnet(["diagnose"], device: device).status == 76)
    }
}
