import AgentModel
import AppProtocol
import Failover
import Foundation
import JSONValues
import PipedPrograms
import Randomness
import Testing

/// Docs/protocol.schema.json says of every line what the code and the examples of Docs/reference/protocol.md say.
@Suite struct SchemaTests {
    private let schema: Schema

    init() throws { schema = try #require(Schema.document) }

    @Test(arguments: ProtocolDocument.requests + ProtocolDocument.answers + ProtocolDocument.events)
    func describesTheDocument(line: String) throws {
        #expect(schema.problems(of: try JSONValue(line)) == [])
    }

    @Test func describesEveryRequest() throws {
        var messages = RandomMessages(random: SeededRandom(seed: 21))
        for _ in 0..<400 {
            let request = messages.request()
            let line = try request.line()
            guard line.count <= ProtocolLimits.lineLength else { continue }
            #expect(schema.problems(of: try value(line), as: "request:\(request.type.rawValue)") == [])
            #expect(try Request(line: line) == request)
        }
    }

    @Test(arguments: MessageType.allCases) func describesEveryAnswer(to type: MessageType) throws {
        var messages = RandomMessages(random: SeededRandom(seed: 22))
        for _ in 0..<40 {
            let line = Response(id: "a", result: .success(messages.answer(to: type))).line()
            #expect(schema.problems(of: try value(line), as: "answer:\(type.rawValue)") == [])
        }
    }

    @Test func describesEveryError() throws {
        var messages = RandomMessages(random: SeededRandom(seed: 23))
        for round in 0..<200 {
            let line = Response(id: round.isMultiple(of: 9) ? nil : "a", result: .failure(messages.failure())).line()
            #expect(schema.problems(of: try value(line), as: "answer:failure") == [])
        }
    }

    @Test func namesTheCommandsOfTheRoleSwitch() throws {
        let meaning = try #require(schema["role"]?["meanings"]?["switch"]?.text)
        let named = Set(meaning.matches(of: /`([^`]+)`/).map { String($0.1) })
        #expect(named == Set(MessageType.allCases.filter { $0.role == .switch }.map(\.rawValue)))
    }

    @Test func describesEveryEvent() throws {
        var messages = RandomMessages(random: SeededRandom(seed: 24))
        for _ in 0..<300 {
            let event = messages.event()
            #expect(schema.problems(of: try value(event.line()), as: "event:\(event.body.name)") == [])
            #expect(schema.problems(of: try value(event.line())) == [])
        }
    }

    /// A line that the device refuses as no request is none to the schema; rules that depend on the device are not in
    /// it.
    @Test(arguments: RefusalTests.cases.filter(\.isJSON)) func refusesWhatTheDeviceRefuses(_ refused: RefusalTests.Case)
    {
        guard let value = try? JSONValue(refused.line) else { return }
        #expect(schema.problems(of: value) != [])
    }

    // covers: seed/one-protocol
    @Test func hasADefinitionOfEveryMessage() {
        let names = Set(definitions.keys)
        #expect(
            names.filter { $0.hasPrefix("request:") } == Set(MessageType.allCases.map { "request:\($0.rawValue)" }))
        #expect(
            names.filter { $0.hasPrefix("answer:") }
                == Set(MessageType.allCases.map { "answer:\($0.rawValue)" } + ["answer:failure"]))
    }

    /// Every set of codes is the one that the code has, in its order.
    @Test func hasTheCodesOfTheCode() {
        #expect(schema["error"]?["properties"]?["code"]?["enum"]?.strings == ErrorCode.allCases.map(\.rawValue))
        #expect(values("phase") == SwitchPhase.allCases.map(\.rawValue))
        #expect(values("state") == LinkState.allCases.map(\.rawValue))
        #expect(values("uplink") == Uplink.allCases.map(\.rawValue))
        #expect(values("security") == Security.allCases.map(\.rawValue))
        #expect(values("open") == Security.allCases.filter(\.isOpenToAll).map(\.rawValue))
        #expect(values("protected") == Security.allCases.filter(\.usesPassphrase).map(\.rawValue))
        #expect(values("joinFailure") == JoinFailure.allCases.map(\.rawValue))
        #expect(
            values("decision.kind")
                == PolicyDecision.Kind.allCases.map(\.rawValue) + [
                    "recovery", "command", "password", "rescue", "floor", "uplink",
                ])
        #expect(values("level") == ReachLevel.allCases.map(\.rawValue))
        #expect(values("problem") == ReachProblem.allCases.map(\.rawValue))
        #expect(values("internet") == InternetState.allCases.map(\.rawValue))
        #expect(values("reachability") == ReachabilityFlags.allNames.map(\.name))
        #expect(values("connectionState") == ConnectionState.allCases.map(\.rawValue))
        #expect(values("portalState") == Portal.State.allCases.map(\.rawValue))
        #expect(
            schema["targetList"]?["properties"]?["source"]?["enum"]?.strings
                == TargetList.Source.allCases.map(\.rawValue))
        #expect(values("fieldKind") == PortalRequest.Field.Kind.allCases.map(\.rawValue))
        #expect(values("diagnosisLayer") == Diagnosis.Layer.allCases.map(\.rawValue))
        #expect(values("diagnosisResult") == Diagnosis.Result.allCases.map(\.rawValue))
        #expect(eventMember("scan.finished", "outcome") == ScanFinished.Outcome.allCases.map(\.rawValue))
        #expect(eventMember("gap", "reason") == Gap.Reason.allCases.map(\.rawValue))
    }

    @Test func hasTheLimitsOfTheCode() {
        let update = schema["request:backups.update"]?["properties"]?["body"]?["properties"]?["networks"]
        #expect(update?["maxItems"] == .integer(ProtocolLimits.updateEntries))
        let scan = schema["request:scan.start"]?["properties"]?["body"]?["properties"]
        #expect(scan?["ssids"]?["maxItems"] == .integer(ProtocolLimits.scanTargets))
        #expect(scan?["frequencies"]?["maxItems"] == .integer(ProtocolLimits.scanTargets))
        let providers = schema["scanned"]?["allOf"]?.last?["properties"]?["providers"]
        #expect(providers?["maxItems"] == .integer(ProtocolLimits.providers))
        #expect(providers?["items"]?["maxLength"] == .integer(ProtocolLimits.providerNameLength.upperBound))
        let targets = schema["request:targets.update"]?["properties"]?["body"]?["oneOf"]?.first?["properties"]?[
            "targets"]
        #expect(targets?["maxItems"] == .integer(ProtocolLimits.targets))
        let target = schema["targetSetting"]?["properties"]
        #expect(target?["name"]?["maxLength"] == .integer(ProtocolLimits.targetNameLength.upperBound))
        #expect(target?["url"]?["maxLength"] == .integer(ProtocolLimits.targetURLLength.upperBound))
        let confirmWithin = schema["request:network.switch"]?["properties"]?["body"]?["allOf"]?.last?["properties"]?[
            "confirmWithin"]
        #expect(confirmWithin?["minimum"] == .integer(ProtocolLimits.confirmWithin.lowerBound))
        #expect(confirmWithin?["maximum"] == .integer(ProtocolLimits.confirmWithin.upperBound))
        #expect(schema["id"]?["maxLength"] == .integer(ProtocolLimits.idLength))
        #expect(schema["keyId"]?["maxLength"] == .integer(ProtocolLimits.keyIdLength.upperBound))
        #expect(schema["ssid"]?["maxLength"] == .integer(SSID.maximumLength))
        let answer = schema["request:portal.answer"]?["properties"]?["body"]?["oneOf"]?.first?["properties"]?["values"]
        #expect(answer?["maxProperties"] == .integer(ProtocolLimits.portalFields))
        #expect(answer?["additionalProperties"]?["maxLength"] == .integer(ProtocolLimits.portalValueLength))
        let nameLength = JSONValue.integer(ProtocolLimits.portalNameLength.upperBound)
        #expect(answer?["propertyNames"]?["maxLength"] == nameLength)
        let request = schema["portalRequest"]?["allOf"]?.last?["properties"]
        #expect(request?["fields"]?["maxItems"] == answer?["maxProperties"])
        #expect(request?["fields"]?["items"]?["properties"]?["name"]?["maxLength"] == nameLength)
        #expect(request?["title"]?["maxLength"] == .integer(ProtocolLimits.portalTitleLength))
        #expect(request?["message"]?["maxLength"] == .integer(ProtocolLimits.portalMessageLength))
        #expect(schema["portalURL"]?["maxLength"] == .integer(ProtocolLimits.portalURLLength))
    }

    /// Every detail that the sources put into an error is documented.
    @Test func hasTheDetailsOfTheCode() throws {
        let used = try ProtocolDocument.sources(["Device/Agent", "Device/AppServer", "App/AppProtocol"]).flatMap {
            text in
            text.matches(of: /"([a-zA-Z]+)": \.(?:text|number)\(/).map { String($0.1) }
        }
        #expect(used.contains("field"))
        #expect(Set(used).subtracting(detailNames) == [])
    }

    private func value(_ line: [UInt8]) throws -> JSONValue { try JSONValue(String(decoding: line, as: UTF8.self)) }

    private var definitions: [String: JSONValue] {
        guard case .object(let definitions)? = schema.root["$defs"] else { return [:] }
        return definitions
    }

    private var detailNames: [String] {
        guard case .object(let members)? = schema["error"]?["properties"]?["details"]?["properties"] else { return [] }
        return Array(members.keys)
    }

    private func values(_ definition: String) -> [String]? { schema[definition]?["enum"]?.strings }

    private func eventMember(_ event: String, _ member: String) -> [String]? {
        schema["event:\(event)"]?["properties"]?["body"]?["properties"]?[member]?["enum"]?.strings
    }
}

/// The codes that a device's decisions are made of, as the schema lists them.
enum Codes {
    static let kinds = Schema.document?["decision.kind"]?["enum"]?.strings ?? []
    static let failures = JoinFailure.allCases.map(\.rawValue)
    static let reasons = (Schema.document?["reason"]?["anyOf"]?.first?["enum"]?.strings ?? []) + failures
    static let verdicts =
        (Schema.document?["verdict"]?["anyOf"]?.first?["enum"]?.strings ?? [])
        + failures.flatMap { ["blocked:\($0)", "unusable:\($0)"] }
}

/// The schema and the document, put to a validator that is not ours.
@Suite(.enabled("needs python3 with the package jsonschema") { PythonScript.canValidate })
struct StandardValidatorTests {
    private static let script = """
        import json, sys, jsonschema
        schema = json.load(open(sys.argv[1]))
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        print(*(int(validator.is_valid(json.loads(line))) for line in sys.stdin))
        """

    @Test func agreesOnTheDocument() throws {
        let lines = ProtocolDocument.requests + ProtocolDocument.answers + ProtocolDocument.events
        #expect(try verdicts(on: lines) == lines.map { _ in true })
    }

    @Test func agreesOnWhatIsRefused() throws {
        let lines = RefusalTests.cases.filter(\.isJSON).map(\.line)
        #expect(lines.count > 40)
        let schema = try #require(Schema.document)
        #expect(try verdicts(on: lines) == lines.map { schema.accepts(try JSONValue($0)) })
    }

    private func verdicts(on lines: [String]) throws -> [Bool] {
        let path = ProtocolDocument.folder.appendingPathComponent("protocol.schema.json").path
        let input = Data(lines.map { $0 + "\n" }.joined().utf8)
        let run = try PythonScript.run(["-c", Self.script, path], input: input)
        #expect(run.status == 0)
        return String(decoding: run.output, as: UTF8.self).split { $0.isWhitespace }.map { $0 == "1" }
    }
}

/// The scripts of Docs/examples, run by the python3 of this machine.
enum PythonScript {
    static let canSeal = succeeds(["-c", "import cryptography.hazmat.primitives.asymmetric.x25519"])

    static let canValidate = succeeds(["-c", "import jsonschema"])

    /// - Returns: the first password that Docs/examples/seal.py has sealed.
    static func seal(_ given: [String: Any]) throws -> SealedPassword {
        let script = ProtocolDocument.folder.appendingPathComponent("examples/seal.py").path
        let output = try run([script], input: JSONSerialization.data(withJSONObject: given)).output
        guard let body = try JSONSerialization.jsonObject(with: output) as? [String: Any],
            let sealed = ((body["networks"] as? [[String: Any]])?.first ?? body)["sealed"]
        else { throw ProtocolError(.malformed, "the script sealed nothing") }
        return try JSONDecoder().decode(SealedPassword.self, from: JSONSerialization.data(withJSONObject: sealed))
    }

    /// The same for a whole request.
    static func seal(
        _ request: Request.Body, for device: DeviceKey, with key: SealingKey
    ) throws -> SealedPassword {
        let line = try Request(id: "a", content: .device(request)).line()
        let object = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
        let given: [String: Any] = [
            "type": request.type.rawValue, "body": object?["body"] ?? [:], "deviceId": device.deviceId,
            "key": device.localKey.withBytes { Hex.string($0) },
            "sealing": ["keyId": key.keyId, "publicKey": Data(key.publicKey).base64EncodedString()],
        ]
        return try seal(given)
    }

    static func succeeds(_ arguments: [String]) -> Bool { (try? run(arguments, input: Data()).status) == 0 }

    static func run(_ arguments: [String], input: Data) throws -> (status: Int32, output: Data) {
        try PipedProgram.run("python3", arguments, input: input)
    }
}
