import AgentModel
import AppProtocol
import Foundation
import Testing

@testable import altnet

/// Signing in, as a user does it.
@Suite struct PortalCommandTests {
    static func request() throws -> PortalRequest {
        PortalRequest(
            id: 4, provider: "hotel", network: NetworkName(ssid: try SSID("Cafe"), hash: nil), title: "Sign in\u{1b}",
            message: "Room number\nas on your key\u{202e} card.", url: "https://portal.example.net/",
            fields: [
                .init(name: "room", label: "Room", kind: .text, isRequired: true),
                .init(name: "mail", label: "", kind: .text, isRequired: false),
                .init(name: "pin", label: "PIN", kind: .password, isRequired: true),
                .init(name: "terms", label: "I accept", kind: .checkbox, isRequired: true),
                .init(name: "news", label: "Send news", kind: .checkbox, isRequired: false),
            ])
    }

    private func device(_ portal: Portal = Portal(state: .presentingUI), isAsking: Bool = true) throws -> ScriptedDevice
    {
        try ScriptedDevice { $0.portal = PortalStatus(portal: portal, request: isAsking ? try Self.request() : nil) }
    }

    private func answer(_ values: [String: String]?) -> Request.Body {
        .answerPortal(PortalAnswer(id: 4, values: values?.mapValues { Secret(text: $0) }))
    }

    // covers: seed/provider-ui
    @Test func aPersonIsAsked() async throws {
        let device = try device()
        let run = try await CommandRun.altnet(
            ["portal"], device: device, password: "0815", answers: ["214", "", "y", "n"])
        #expect(run.status == 0)
        let lines = run.output.split(separator: "\n")
        try #require(lines.count == 6)
        #expect(lines[0].contains("hotel") && lines[0].contains("Cafe"))
        #expect(lines[1...3] == ["  Sign in\\x1b", "  Room number", "  as on your key\\xe2\\x80\\xae card."])
        #expect(lines[4].hasSuffix(" https://portal.example.net/") && lines[5].contains("'altnet status'"))
        #expect(run.errors == "Room: mail (optional): PIN: I accept [y/N]: Send news [y/N]: ")
        #expect(device.commands == [answer(["room": "214", "pin": "0815", "terms": "true", "news": "false"])])
    }

    @Test(arguments: [([""], "0815", "Room"), (["214", "", "no"], "0815", "I accept"), (["214", ""], "", "PIN")])
    func whatIsRequiredHasToBeAnswered(answers: [String], password: String, label: String) async throws {
        let device = try device()
        let run = try await CommandRun.altnet(["portal"], device: device, password: password, answers: answers)
        #expect(run.status == 65)
        #expect(run.errors.hasSuffix(": \(label)\n"))
        #expect(device.commands == [])
    }

    @Test func withoutATerminalItIsShownAndNotAnswered() async throws {
        let device = try device()
        let run = try await CommandRun.altnet(["portal"], device: device)
        #expect(run.status == 65)
        #expect(run.output.contains("hotel") && run.output.contains("Room number"))
        #expect(device.commands == [])
    }

    // covers: seed/provider-ui
    @Test func aPersonFinishesOnThePage() async throws {
        let device = try ScriptedDevice {
            $0.portal = PortalStatus(portal: Portal(state: .presentingUI), request: try Self.request())
            $0.portal.request?.fields = []
        }
        let run = try await CommandRun.altnet(["portal"], device: device, answers: [""])
        #expect(run.status == 0)
        #expect(run.output.contains("  Open this page in a browser: https://portal.example.net/"))
        #expect(run.errors == "Press Enter when you have finished there: ")
        #expect(device.commands == [answer([:])])
    }

    @Test func aProgramAnswers() async throws {
        let device = try device()
        let run = try await CommandRun.altnet(
            ["portal", "--answer", "room=2=14", "--answer", "terms=true", "--password-stdin", "--json"], device: device,
            input: "08 15\r\nmore\n")
        #expect(run.status == 0)
        #expect(device.commands == [answer(["room": "2=14", "pin": "08 15", "terms": "true"])])
        let status = try JSONDecoder().decode(PortalStatus.self, from: Data(run.output.utf8))
        #expect(status == PortalStatus(portal: Portal(state: .authenticating)))
        #expect(!(run.output + run.errors).contains("08 15"))
    }

    @Test func aPasswordIsNoArgument() async throws {
        let device = try device()
        let run = try await CommandRun.altnet(["portal", "--answer", "pin=0815"], device: device)
        #expect(run.status == 65)
        #expect(run.errors.hasSuffix(": pin\n") && run.errors.contains("--password-stdin"))
        #expect(device.commands == [])
    }

    @Test func asJSONItIsShownWithoutAQuestion() async throws {
        let device = try device()
        let run = try await CommandRun.altnet(["portal", "--json"], device: device, password: "x", answers: ["214"])
        #expect(run.status == 0)
        #expect(run.errors == "")
        let status = try JSONDecoder().decode(PortalStatus.self, from: Data(run.output.utf8))
        #expect(status.request == (try Self.request()))
        #expect(device.commands == [])
    }

    @Test func noProgramAnswers() async throws {
        let device = try device()
        let run = try await CommandRun.altnet(["portal", "--cancel"], device: device)
        #expect(run.status == 0 && run.errors.isEmpty && !run.output.isEmpty)
        #expect(device.commands == [answer(nil)])
    }

    @Test func anotherAppWasFaster() async throws {
        let refusal = ProtocolError(.unknownPortal, "too late")
        let device = try ScriptedDevice {
            $0.portal.request = try Self.request()
            $0.portalRefusal = refusal
        }
        let run = try await CommandRun.altnet(["portal", "--cancel"], device: device)
        #expect(run.status == 1)
        #expect(run.errors == "altnet: too late: \(ErrorCode.unknownPortal.advice ?? "")\n")
    }

    @Test(arguments: [["--cancel"], ["--answer", "a=b"], ["--password-stdin"]])
    func noQuestionIsAsked(arguments: [String]) async throws {
        let device = try device(isAsking: false)
        let run = try await CommandRun.altnet(["portal"] + arguments, device: device)
        #expect(run.status == 1)
        #expect(run.errors.hasPrefix("altnet: ") && run.errors.contains("no sign-in request"))
        #expect(device.commands == [])
    }

    /// In the provider's words, of which nothing moves the terminal.
    @Test func whyTheDeviceCouldNotIsSaid() async throws {
        let device = try ScriptedDevice {
            $0.portal = PortalStatus(portal: Portal(state: .inactive), problem: "cafe: it \u{1b}ended")
        }
        let run = try await CommandRun.altnet(["portal"], device: device)
        #expect(run.output.hasSuffix(" cafe: it \\x1bended.\n"))
    }

    @Test(arguments: [
        (Portal(url: "https://a.example/", state: .inactive), ["needs a sign-in", "https://a.example/"]),
        (Portal(state: .inactive), ["needs a sign-in."]),
        (Portal(state: .evaluating), ["searching for"]),
        (Portal(state: .authenticating, provider: "hotel"), ["is signing in", "hotel"]),
        (Portal(state: .authenticated, provider: "hotel"), ["is signed in with hotel."]),
        (Portal(state: .authenticated), ["No hotspot provider claims", "used as it is."]),
        (Portal(state: .maintaining, provider: "h\u{1b}", secondsRemaining: 7300), ["is signed in", "h\\x1b", "2 h"]),
        (Portal(state: .maintaining, secondsRemaining: .max), ["is signed in", "106751991167 d"]),
    ])
    func howItStands(portal: Portal, parts: [String]) async throws {
        let run = try await CommandRun.altnet(["portal"], device: try device(portal, isAsking: false))
        #expect(run.status == 0)
        for part in parts { #expect(run.output.contains(part)) }
    }

    // covers: seed/provider-unclaimed
    @Test func anOpenNetworkNeedsNoSignIn() async throws {
        let run = try await CommandRun.altnet(["portal"], device: ScriptedDevice())
        #expect(run.output.contains("no sign-in"))
    }

    @Test func aDeviceInTheNetworkIsAnswered() async throws {
        let device = try device()
        let run = try await CommandRun.remote(
            ["portal", "--answer", "room=214", "--password-stdin"], device: device, input: "0815")
        #expect(run.status == 0)
        #expect(device.commands == [answer(["room": "214", "pin": "0815"])])
    }
}

/// The prompt that shows what is typed.
@Suite struct LinePromptTests {
    @Test func readsALineAndShowsIt() async throws {
        let terminal = try PseudoTerminal()
        terminal.type("21\u{7f}14 é\r")
        #expect(try LinePrompt.ask("Room: ", on: terminal.slave) == "214 é")
        #expect(terminal.shown().hasPrefix("Room: 21"))
    }

    @Test func theEndOfInputGivesUp() async throws {
        let terminal = try PseudoTerminal()
        terminal.type("\u{4}")
        let failure = #expect(throws: CommandFailure.self) { try LinePrompt.ask("Room: ", on: terminal.slave) }
        #expect(failure?.status == .failed)
    }

    @Test func endlessInputIsCut() throws {
        var pipe: [Int32] = [0, 0]
        try #require(Foundation.pipe(&pipe) == 0)
        defer { for descriptor in pipe { close(descriptor) } }
        let bytes = Array(repeating: UInt8(ascii: "x"), count: 4000) + [UInt8(ascii: "\n")]
        try #require(bytes.withUnsafeBytes { write(pipe[1], $0.baseAddress, $0.count) } == bytes.count)
        #expect(try LinePrompt.ask("", on: pipe[0]).utf8.count == 1024)
    }
}
