import AgentModel
import Foundation
import KeyFile
import Testing

@testable import altnet

/// Files of other programs with the right result by the rules of these programs (Tests/ImportCases).
// covers: seed/import
@Suite struct ImportCaseTests {
    fileprivate struct Expectation: Decodable {
        struct Network: Decodable, Equatable {
            let ssidHex: String
            let security: String
            let password: String?
            let hidden: Bool
            let address: String?
            let gateway: String?
            let dns: [String]
            var serverName: String?
        }
        struct Omission: Decodable {
            let ssidHex: String?
            let extent: String
            /// Regular expression for the reason.
            let match: String
        }
        struct Result: Decodable {
            let networks: [Network]
            let notTaken: [Omission]
        }
        let kind: String
        let exit: Int32
        let ordered: Bool
        let networks: [Network]
        let notTaken: [Omission]
        let alternatives: [Result]?

        var results: [Result] { [Result(networks: networks, notTaken: notTaken)] + (alternatives ?? []) }
    }

    private struct Report: Decodable {
        struct Omission: Decodable {
            let ssid: String?
            let ssidHex: String?
            let extent: String
            let reason: String

            var name: String? { ssidHex ?? ssid.map { Hex.string(Array($0.utf8)) } }
        }
        let notTaken: [Omission]
    }

    private static let folder =
        "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/") + "/ImportCases"
    private static let cases = (try? FileManager.default.contentsOfDirectory(atPath: folder))?
        .filter { !$0.contains(".") }

    @Test func thereAreCases() { #expect(Self.cases?.isEmpty == false) }

    @Test(arguments: cases ?? []) func isImportedByTheRulesOfItsProgram(name: String) async throws {
        let input = Self.folder + "/" + name + "/input"
        let expected = try JSONDecoder().decode(
            Expectation.self, from: Data(contentsOf: URL(fileURLWithPath: Self.folder + "/" + name + "/expected.json")))
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let settings = folder + "/settings"
        try "ALTNET_STATE_DIR=\(folder)/state\nALTNET_SOCKET=/nowhere\nALTNET_MAX_BACKUPS=10\n"
            .write(toFile: settings, atomically: true, encoding: .utf8)
        let command =
            expected.kind == "code"
            ? ["provision", "--from", input + "/code.txt"] : ["import", "--root", input, "--yes", "--json"]
        let run = await CommandRun.altnet(
            command + ["--settings", settings, "--root-key", folder + "/root-key"])
        #expect(run.status == expected.exit, "\(run.errors)")
        let omissions =
            expected.kind == "code" ? [] : try JSONDecoder().decode(Report.self, from: Data(run.output.utf8)).notTaken
        let place = StorePlace(path: folder + "/state/keyfile", rootKey: .file(path: folder + "/root-key"))
        let isStored = FileManager.default.fileExists(atPath: folder + "/state")
        let state = isStored ? try place.open(maximumBackups: 10).state : nil
        let networks = ([state?.home].compactMap(\.self) + (state?.backups ?? [])).map(Expectation.Network.init)
        #expect(
            expected.results.contains { result in
                Self.isEqual(networks, result.networks, isOrdered: expected.ordered)
                    && Self.isEqual(omissions, result.notTaken)
            }, "\(networks) \(omissions)")
    }

    private static func isEqual(
        _ networks: [Expectation.Network], _ expected: [Expectation.Network], isOrdered: Bool
    ) -> Bool {
        isOrdered
            ? networks == expected
            : networks.sorted { $0.ssidHex < $1.ssidHex } == expected.sorted { $0.ssidHex < $1.ssidHex }
    }

    private static func isEqual(_ omissions: [Report.Omission], _ expected: [Expectation.Omission]) -> Bool {
        omissions.count == expected.count
            && expected.allSatisfy { wanted in
                omissions.contains { omission in
                    omission.name == wanted.ssidHex && omission.extent == wanted.extent
                        && omission.reason.range(of: wanted.match, options: .regularExpression) != nil
                }
            }
    }
}

extension ImportCaseTests.Expectation.Network {
    fileprivate init(_ network: StoredNetwork) {
        var password: Secret?
        switch network.credential {
        case .passphrase(let text, _): password = text
        case .enterprise(let credential): (password, serverName) = (credential.password, credential.serverName)
        default: break
        }
        ssidHex = network.ssid.hex
        security =
            switch network.security {
            case .open: "open"
            case .owe: "owe"
            case .wpa3: "sae"
            case .enterprise: "enterprise"
            default: "psk"
            }
        self.password = password?.withBytes { String(decoding: $0, as: UTF8.self) }
        hidden = network.isHidden
        let static4 = network.staticAddress
        address = static4.map { "\($0.address)/\($0.prefixLength)" }
        gateway = static4?.gateway.map { "\($0)" }
        dns = static4?.nameServers.map { "\($0)" } ?? []
    }
}
