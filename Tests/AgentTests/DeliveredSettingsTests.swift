import AgentModel
import Glibc
import Testing

@testable import Agent

/// The table of settings, and the delivered file that `make docs` writes from it.
// covers: seed/user-firmware
@Suite struct DeliveredSettingsTests {
    private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    private static let file = root + "/board/altnet.conf"

    /// As delivered, nothing is set.
    @Test func theFileAsItIsChangesNothing() throws {
        let content = SettingsFile(path: Self.file)
        #expect(content.entries.isEmpty && content.problems.isEmpty)
        _ = try SettingsSource(file: Self.file, environment: [:]).read()
    }

    @Test func everySettingHasANameOfItsOwn() {
        let names = Setting.all.map(\.name)
        #expect(Set(names).count == names.count)
    }

    /// The documented default of each setting is the one that counts without it.
    @Test func whatIsWrittenAsDefaultIsTheDefault() async throws {
        try await inFolder { folder in
            let standard = try AgentSettings(environment: [:])
            let lines = try uncommented(of: Self.file).filter { line in
                if case .value? = Setting.all.first(where: { $0.name == line.name })?.standard { true } else { false }
            }
            #expect(lines.count > 30)
            try write(lines.map { "\($0.name)=\($0.value)\n" }.joined(), to: folder + "/conf")
            let settings = try SettingsSource(file: folder + "/conf", environment: [:]).read()
            #expect(settings.policy == standard.policy)
            #expect(settings.unixListener == standard.unixListener && settings.interface == standard.interface)
            #expect(settings.connectivity.keepAlive == standard.connectivity.keepAlive)
            #expect(settings.connectivity.budget == standard.connectivity.budget)
            #expect(settings.maximumBackups == standard.maximumBackups && settings.lanPort == standard.lanPort)
            #expect(settings.lanConnections == standard.lanConnections && settings.logLevel == standard.logLevel)
            #expect(settings.recordLimit == standard.recordLimit)
            #expect(settings.stateDirectory == standard.stateDirectory && settings.keyFilePath == standard.keyFilePath)
            #expect(settings.controlSocket == standard.controlSocket)
        }
    }

    /// An example that a user takes over is allowed, alone.
    @Test(arguments: Setting.all) func everyExampleIsAllowed(setting: Setting) throws {
        // These two go with a URL.
        guard ![Setting.validationStatus.name, Setting.validationBody.name].contains(setting.name) else { return }
        _ = try AgentSettings(environment: [setting.name: setting.example])
    }

    /// The ranges in the table are those that are checked: the bounds are allowed, and nothing beyond.
    @Test(arguments: Setting.all)
    func theRangeIsTheOneThatIsChecked(setting: Setting) {
        guard case .number(let range, _) = setting.form else { return }
        for value in [range.lowerBound, range.upperBound] {
            #expect(!isRefused("\(value)", setting), "\(value)")
        }
        for value in [range.lowerBound - 1, range.upperBound + 1] {
            #expect(isRefused("\(value)", setting), "\(value)")
        }
    }

    /// Whether the value is out of its own range, whatever else it is at odds with.
    private func isRefused(_ value: String, _ setting: Setting) -> Bool {
        do throws(InvalidSettings) {
            _ = try AgentSettings(environment: [setting.name: value])
            return false
        } catch {
            return error.problems.contains { $0.name == setting.name && $0.allowed == setting.form.allowed }
        }
    }

    private func uncommented(of path: String) throws -> [SettingsFile.Entry] {
        let lines = try text(of: path).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("#ALTNET_") ? $0.dropFirst() : $0 }
        let content = SettingsFile(path: path, content: Array(lines.joined(separator: "\n").utf8))
        #expect(content.problems.isEmpty)
        return content.entries
    }

    private func text(of path: String) throws -> String {
        let file = open(path, O_RDONLY)
        try #require(file >= 0, "\(path) is missing")
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: SettingsFile.maximumLength)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
