import AgentModel
import AppProtocol
import Testing

@testable import Agent

@Suite struct EasyConnectCodeTests {
    private static func device(_ key: String = "0123456789abcdef", id: String = "bench-01") throws -> DeviceKey {
        try DeviceKey(deviceId: id, localKey: Secret(text: key))
    }

    /// The label of a device stays true: this code has to come out for ever.
    @Test func theCodeFollowsFromTheKey() throws {
        let code = EasyConnectCode(of: try Self.device())
        #expect(code == EasyConnectCode(of: try Self.device()))
        #expect(code.uri.hasPrefix("DPP:C:81/6;K:MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgA") && code.uri.hasSuffix("=;;"))
        #expect(code.uri.utf8.count == 13 + 80 + 2)
        // The device's id and its key both count.
        #expect(EasyConnectCode(of: try Self.device(id: "bench-02")).uri != code.uri)
        #expect(EasyConnectCode(of: try Self.device("0123456789abcdee")).uri != code.uri)
    }

    /// RFC 5915: the curve is named, and the point is there.
    @Test func theKeyIsWrittenAsWpaSupplicantReadsIt() throws {
        let bytes = EasyConnectCode(of: try Self.device()).privateKey.withBytes { Array($0) }
        #expect(bytes.count == 121 && bytes.starts(with: [0x30, 0x77, 2, 1, 1, 4, 32]))
        #expect(bytes[39..<51] == [0xa0, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7])
        #expect(bytes[51..<57] == [0xa1, 0x44, 3, 0x42, 0, 4])
    }
}
