import Foundation
import PipedPrograms

/// The scripts of Docs/examples, run by the python3 of this machine.
enum PythonScript {
    static let canSeal = succeeds(["-c", "import cryptography.hazmat.primitives.asymmetric.x25519"])

    static let canValidate = succeeds(["-c", "import jsonschema"])

    /// - Returns: the Base64 that Docs/examples/seal.py prints.
    static func seal(
        publicKey: Data, localKey: Data, deviceId: String, ssid: Data, password: Data, ephemeralKey: Data? = nil
    ) throws -> String {
        var given = [
            "publicKey": hex(publicKey), "localKey": hex(localKey), "deviceId": deviceId, "ssidHex": hex(ssid),
            "password": hex(password),
        ]
        given["ephemeralKey"] = ephemeralKey.map(hex)
        let script = ProtocolDocument.folder.appendingPathComponent("examples/seal.py").path
        let output = try run([script], input: JSONSerialization.data(withJSONObject: given)).output
        return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    static func succeeds(_ arguments: [String]) -> Bool { (try? run(arguments, input: Data()).status) == 0 }

    static func run(_ arguments: [String], input: Data) throws -> (status: Int32, output: Data) {
        try PipedProgram.run("python3", arguments, input: input)
    }

    private static func hex(_ data: Data) -> String { data.map { String(format: "%02x", $0) }.joined() }
}
