import AgentModel
import AppProtocol
import Foundation
import Terminal
import Testing

@testable import altnet

@Suite struct PairTests {
    private static let code = "altnet://pair?v=1&id=lamp-01&key=0123456789abcdef0123456789abcdef"
    /// The code of the setup access point.
    private static var accessPoint: String {
        get throws {
            try #require(SetupAccessPointCredentials(of: try PairingCode(reading: Self.code.utf8).device)).code()
        }
    }
    private static let terminal = Style(hasColour: true, width: 80)

    private func inFolder(_ body: (_ folder: String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    private func device(in path: String) throws -> DeviceKey {
        try DeviceKeyFile(path: path).read(deviceId: nil)
    }

    @Test func makesANewDeviceEachTime() async throws {
        let first = await CommandRun.altnet(["pair", "--output", "-"])
        let second = await CommandRun.altnet(["pair", "--output", "-"])
        #expect(first.status == 0)
        #expect(first.output != second.output)
        let device = try PairingCode(reading: first.output.utf8.dropLast()).device
        #expect(device.deviceId.utf8.count == 16)
        // At least 128 bits, in hexadecimal digits.
        #expect(device.localKey.count >= 32)
        #expect(first.errors.contains("'altnet provision --from FILE'"))
    }

    @Test func theFileIsTheOwnersAlone() async throws {
        try await inFolder { folder in
            let file = folder + "/lamp.key"
            let run = await CommandRun.altnet(["pair", "--id", "lamp-01", "--output", file])
            #expect(run.status == 0)
            // Nothing of the key without a request for it.
            #expect(run.output.contains(file) && run.output.contains("lamp-01"))
            #expect(!run.output.contains("key="))
            #expect(run.errors.contains("'altnet provision --from \(file)'"))
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let device = try device(in: file)
            #expect(device.deviceId == "lamp-01")

            let again = await CommandRun.altnet(["pair", "--output", file])
            #expect(again.status == 1)
            #expect(again.errors.contains("--force"))
            #expect(try self.device(in: file) == device)
            #expect(await CommandRun.altnet(["pair", "--output", file, "--force"]).status == 0)
            #expect(try self.device(in: file) != device)
        }
    }

    /// A key file made beside the device's own key would be refused by the device.
    @Test func theDevicesOwnKeyBecomesAKeyFile() async throws {
        try await inFolder { folder in
            let state = ["--state-dir", folder + "/state"]
            let nothing = await CommandRun.altnet(["pair", "--show", "--output", "-"] + state)
            #expect(nothing.status == 65)
            #expect(nothing.errors.contains("altnet provision"))
            let made = await CommandRun.altnet(["provision"] + state)
            #expect(made.errors.isEmpty)
            let file = folder + "/lamp.key"
            let run = await CommandRun.altnet(["pair", "--show", "--output", file] + state)
            #expect(run.status == 0)
            #expect(run.errors.isEmpty)
            let shown = await CommandRun.altnet(["pair", "--show", "--output", "-"] + state)
            let device = try device(in: file)
            #expect(shown.output == PairingCode(device).uri() + "\n")
            let other = await CommandRun.altnet(["pair", "--from", file, "--output", folder + "/copy"])
            #expect(other.errors.isEmpty)
        }
    }

    @Test func theKeyIsNotForAPipe() async {
        let run = await CommandRun.altnet(["pair"])
        #expect(run.status == 65)
        #expect(run.output.isEmpty)
        #expect(run.errors.contains("--output"))
    }

    @Test(QRCode.isEncodable) func aTerminalShowsThePictureAndTheText() async throws {
        try await inFolder { folder in
            let file = folder + "/lamp.key"
            try Data(Self.code.utf8).write(to: URL(fileURLWithPath: file))
            chmod(file, 0o600)
            let run = await CommandRun.altnet(["pair", "--from", file], style: Self.terminal)
            let picture = try #require(QRCodeView(code: try QRCode(Self.code.utf8)).render(Self.terminal))
            #expect(
                run.output == """
                    \(picture)

                    Device id    lamp-01
                    Local key    0123456789abcdef0123456789abcdef
                    Code         \(Self.code)
                    Setup AP     \(try Self.accessPoint)

                    """)
            #expect(run.errors.contains("full access"))
            // As high as a terminal of 24 lines, the prompt included.
            #expect(run.output.split(separator: "\n", omittingEmptySubsequences: false).count <= 27)

            let narrow = await CommandRun.altnet(["pair", "--from", file], style: Style(hasColour: true, width: 40))
            #expect(narrow.output.hasPrefix("Device id    lamp-01\n"))
            #expect(narrow.errors.contains("widen"))
        }
    }

    @Test func withoutTheLibraryATerminalShowsTheText() async throws {
        try await inFolder { folder in
            let file = folder + "/lamp.key"
            try Data(Self.code.utf8).write(to: URL(fileURLWithPath: file))
            chmod(file, 0o600)
            let run = await CommandRun.altnet(
                ["pair", "--from", file], style: Self.terminal, qrCodeLibrary: "libqrencode.so.absent")
            #expect(run.status == 0)
            #expect(
                run.output == """
                    Device id    lamp-01
                    Local key    0123456789abcdef0123456789abcdef
                    Code         \(Self.code)
                    Setup AP     \(try Self.accessPoint)

                    """)
            #expect(run.errors.contains("package libqrencode4"))
            #expect(run.errors.split(separator: "\n").count == 2)
        }
    }

    @Test func programsGetTheCodeWhereTheyAskForIt() async throws {
        let run = await CommandRun.altnet(["pair", "--id", "lamp-01", "--output", "-", "--json"])
        let document = try #require(JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: String])
        #expect(document.keys.sorted() == ["accessPoint", "code", "deviceId"])
        let device = try PairingCode(reading: (document["code"] ?? "").utf8).device
        #expect(document["accessPoint"] == SetupAccessPointCredentials(of: device)?.code())
        #expect(try PairingCode(reading: (document["code"] ?? "").utf8).device.deviceId == "lamp-01")
    }

    @Test func whatIsNoOrdinaryFileIsNotReplaced() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/altnet-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        let run = await CommandRun.altnet(["pair", "--id", "lamp-01", "--output", path, "--force"])
        #expect(run.status == 1)
        #expect(run.errors.contains("not a regular file"))
        var there = stat()
        #expect(lstat(path, &there) == 0 && there.st_mode & S_IFMT == S_IFIFO)
    }

    @Test(arguments: [
        ["--show", "--from", "x"], ["--show", "--id", "x"], ["--from", "x", "--id", "y"],
        ["--state-dir", "/x"], ["--force"], ["--force", "--output", "-"], ["--device", "lamp"],
    ])
    func contradictionsAreRefused(options: [String]) async {
        #expect(await CommandRun.altnet(["pair"] + options).status == 64)
    }

    @Test func anImpossibleIdIsRefused() async {
        for id in ["", "a b", String(repeating: "x", count: 65), "\u{e9}"] {
            #expect(await CommandRun.altnet(["pair", "--id", id, "--output", "-"]).status == 65)
        }
    }
}
