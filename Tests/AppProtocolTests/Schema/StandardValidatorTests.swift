import Foundation
import Testing

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
