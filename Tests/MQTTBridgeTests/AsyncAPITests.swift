import AgentModel
import AppProtocol
import Foundation
import JSONValues
import PipedPrograms
import Testing

@testable import MQTTBridge

/// Docs/mqtt.asyncapi.yaml describes the messages that the code makes, and no others.
@Suite(.enabled("needs python3 with the packages yaml and jsonschema") { Description.isReadable })
struct AsyncAPITests {
    @Test func everyMessageIsAsItIsDescribed() throws {
        let messages = Self.messages()
        let channels = Set(messages.map(\.channel))
        #expect(
            channels == [
                "availability", "status", "signal", "backups", "decision", "switch", "outage", "scan", "response",
            ])
        #expect(try Description.faults(of: messages) == [])
        // It does tell what is wrong.
        let wrong = [
            ("status", #"{"v":1}"#), ("outage", #"{"seconds":1,"reason":"linkLost"}"#),
            (
                "backups",
                #"{"max":3,"revision":1,"networks":[{"hash":"a","security":"open","hidden":false,"password":"x"}]}"#
            ),
            ("response", #"{"v":1,"id":"1","ok":true}"#), ("request", #"{"v":1,"id":"1","type":"keys.add"}"#),
            ("homeAssistant", #"{"action":"scan"}"#),
        ].map { Description.Message(channel: $0.0, payload: Array($0.1.utf8)) }
        #expect(try Description.faults(of: wrong).count == wrong.count)
    }

    @Test func theTopicsAreThoseOfTheCode() throws {
        let topics = Topics(prefix: "{prefix}", deviceId: "{deviceId}")
        let expected = [
            "availability": topics.availability, "status": topics.status, "signal": topics.signal,
            "backups": topics.backups, "decision": topics.decision, "switch": topics.switchProgress,
            "outage": topics.outage, "scan": topics.scan, "request": topics.request, "firmware": topics.firmware,
            "homeAssistant": topics.homeAssistant, "tunnelUp": topics.tunnelUp("{tunnelId}"),
            "tunnelDown": topics.tunnelDown("{tunnelId}"),
        ]
        #expect(try Description.addresses() == expected)
    }

    /// The types that a broker may carry: those whose questions and commands come as far as their body is read.
    @Test func theRequestsAreThoseThatAreTaken() throws {
        var settings = BridgeSettings()
        settings.role = .manage
        let bodies: [MessageType: String] = [
            .getSwitch: #"{"switchId":"s"}"#, .confirmSwitch: #"{"switchId":"s"}"#, .updateBackups: #"{"networks":[]}"#,
            .switchNetwork: #"{"hash":"\#(NetworkHash.of("A"))"}"#, .updateTargets: #"{"targets":[]}"#,
            .setProvider: #"{"provider":"click-through","on":true}"#, .answerPortal: #"{"id":4,"values":{}}"#,
            .setName: #"{"name":"Kitchen"}"#, .proveRequest: Self.proved,
            .dropPassword: #"{"changeId":"c"}"#, .addKey: #"{"name":"a","role":"see"}"#, .revokeKey: #"{"name":"a"}"#,
            .claimKey: #"{"name":"a"}"#,
        ]
        let taken = MessageType.allCases.filter { type in
            var (talk, _) = Talk.connected(settings)
            let body = bodies[type].map { #","body":\#($0)"# } ?? ""
            return !talk.request(2, #"{"v":1,"id":"1","type":"\#(type.rawValue)"\#(body)}"#).lines.isEmpty
        }
        #expect(try Description.requestTypes().sorted() == taken.map(\.rawValue).sorted())
    }

    private static let proved =
        #"{"line":"{\"v\":1,\"id\":\"1\",\"type\":\"scan.start\",\"expires\":\"2026-02-03T04:06:00Z\"}","#
        + #""proof":"ah4EfAANRhojAV9Alz+M0OOFI+5gzLOnaScsWB9hXHU="}"#

    /// One of each kind, and more of those that have parts that may be absent.
    private static func messages() -> [Description.Message] {
        var (talk, effects) = Talk.connected()
        let connectivity = Connectivity(level: .internet, required: .internet, internet: .yes)
        effects += talk.event(2, .networkChanged(.online("BackupNet", connectivity: connectivity)))
        effects += talk.event(3, .signal(SignalReading(signal: -70)))
        effects += talk.event(4, .scanFinished(ScanFinished(scanId: nil, outcome: .failed, networks: 0)))
        effects += talk.event(5, .switchProgress(SwitchStatus(switchId: "s-1", phase: .joining)))
        effects += talk.event(
            5,
            .switchProgress(
                SwitchStatus(
                    switchId: "s-1", phase: .rolledBack, reason: ReasonCode(.wrongKey), text: "no", trafficOver: .wired)
            ))
        let network = NetworkName(ssid: .named("HomeNet"), hash: .of("HomeNet"))
        let decision = Decision(
            seq: 1, time: Timestamp.moment, monotonicMs: 5, kind: .init(rawValue: "join"), from: network,
            to: network,
            reason: ReasonCode(rawValue: "weak"), text: "joining",
            candidates: [
                .init(
                    ssid: .named("A"), bssid: nil, signal: nil, frequency: nil, verdict: ReasonCode(rawValue: "notSeen")
                )
            ])
        effects += talk.event(6, .decision(decision))
        effects += talk.event(7, .backupsChanged(BackupList(max: 3, revision: 8, networks: [])))
        effects += talk.event(10, .networkChanged(.offline))
        effects += talk.event(60, .networkChanged(.online()))
        talk.isClockKnown = false
        effects += talk.event(70, .networkChanged(.offline))
        effects += talk.event(90, .networkChanged(.online()))
        effects += talk.request(91, #"{"v":1,"id":"q1","type":"network.get"}"#, responseTopic: nil)
        effects += talk.agent(91, id: "q1", .network(.online()))
        effects += talk.request(92, "{", responseTopic: nil)
        effects += talk.settled(93, .stop)
        return effects.published.compactMap { message in
            guard message.topic.hasPrefix(Talk.base + "/") else { return nil }
            return Description.Message(
                channel: String(message.topic.dropFirst(Talk.base.count + 1)),
                payload: message.topic.hasSuffix("availability")
                    ? Array("\"\(String(decoding: message.payload, as: UTF8.self))\"".utf8) : message.payload)
        }
    }
}

/// Docs/mqtt.asyncapi.yaml, as python3 reads it.
private enum Description {
    struct Message {
        let channel: String
        let payload: [UInt8]
    }

    static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

    static var isReadable: Bool {
        (try? PipedProgram.run("python3", ["-c", "import yaml, jsonschema"]).status) == 0
    }

    private static func run(_ script: String, _ input: [UInt8] = []) throws -> JSONValue? {
        let read = "import json, sys, yaml\nd = yaml.safe_load(open(sys.argv[1]))\n"
        let (status, output) = try PipedProgram.run(
            "python3", ["-c", read + script, root + "/Docs/mqtt.asyncapi.yaml"], input: Data(input), errors: nil)
        #expect(status == 0, "\(String(decoding: output, as: UTF8.self))")
        return JSONValue(line: Array(output))
    }

    static func faults(of messages: [Message]) throws -> [String] {
        let lines = messages.flatMap { Array("\($0.channel) ".utf8) + $0.payload + [UInt8(ascii: "\n")] }
        let script = """
            from jsonschema import Draft202012Validator
            faults = []
            for line in sys.stdin:
                channel, text = line.split(" ", 1)
                payload = d["components"]["messages"][channel]["payload"]
                schema = dict(payload, components=d["components"])
                errors = [error.message for error in Draft202012Validator(schema).iter_errors(json.loads(text))]
                if errors: faults.append(f"{channel}: {errors[0][:200]}")
            print(json.dumps(faults))
            """
        return try run(script, lines)?.array?.compactMap(\.text) ?? ["no answer"]
    }

    static func addresses() throws -> [String: String] {
        let script = #"print(json.dumps({n: c["address"] for n, c in d["channels"].items() if c["address"]}))"#
        return try run(script)?.object?.compactMapValues(\.text) ?? [:]
    }

    static func requestTypes() throws -> [String] {
        let script = #"print(json.dumps(d["components"]["schemas"]["request"]["properties"]["type"]["enum"]))"#
        return try run(script)?.array?.compactMap(\.text) ?? []
    }
}
