import Glibc
import Testing

@testable import Agent

/// The delivered settings file and Docs/settings.md say what the code does. ALTNET_WRITE_SETTINGS=1 writes them anew.
// covers: seed/user-firmware
@Suite struct SettingsPapersTests {
    private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    private static let file = root + "/board/altnet.conf"

    @Test(arguments: [("board/altnet.conf", SettingsPapers.file), ("Docs/settings.md", SettingsPapers.page)])
    func isWhatTheTableSays(name: String, expected: String) throws {
        let path = "\(Self.root)/\(name)"
        if getenv("ALTNET_WRITE_SETTINGS") != nil { try write(expected, to: path) }
        let content = try text(of: path)
        #expect(content == expected, "\(name) is not what the table of settings says: run with ALTNET_WRITE_SETTINGS=1")
    }

    /// As delivered, nothing is set.
    @Test func theFileAsItIsChangesNothing() throws {
        let content = SettingsFile(path: Self.file)
        #expect(content.entries.isEmpty && content.problems.isEmpty)
        _ = try SettingsSource(file: Self.file, environment: [:]).read()
    }

    /// Every known setting appears exactly once, commented out.
    @Test func everySettingIsThereOnce() throws {
        let names = try uncommented(of: Self.file).map(\.name)
        #expect(names == Setting.all.map(\.name))
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

/// The documents about the settings, made from their table.
enum SettingsPapers {
    static let file =
        """
        # Settings of altnet, the agent that keeps this device online.
        #
        # Every line that is commented out shows the default, or an example where the
        # default cannot be written. To change one, take the # away. Then:
        #
        #   altnet agent --check-config --settings /etc/altnet/altnet.conf
        #   systemctl reload altnet      takes over what says "on reload"
        #   systemctl restart altnet     takes over everything; the link stays up
        #
        # NAME=VALUE a line, as in systemd.exec(5), EnvironmentFile=. Values with spaces
        # at an end, quotes or backslashes go in quotes; no comment after a value. What
        # the service's environment sets counts before this file.

        """
        + Setting.groups.map { group in
            let title = "\n# ---- \(group.title) " + String(repeating: "-", count: 72 - group.title.count) + "\n"
            return title + group.settings.map(entry).joined()
        }.joined()

    private static func entry(_ setting: Setting) -> String {
        let standard =
            switch setting.standard {
            case .value: ""
            case .implied(let words, _): "Default: \(words)."
            }
        let allowed = "Allowed: \(setting.form.allowed)."
        let sentences = [setting.meaning, allowed, standard, "Takes effect on \(effect(setting))."]
        return "\n" + wrapped(sentences.joined(separator: " ")) + "#\(setting.name)=\(setting.example)\n"
    }

    private static func effect(_ setting: Setting) -> String {
        switch setting.effect {
        case .onReload: "reload"
        case .onRestart: "restart"
        }
    }

    private static func wrapped(_ text: String) -> String {
        var lines = ["#"]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + 1 + word.count > 79 { lines.append("#") }
            lines[lines.count - 1] += " \(word)"
        }
        return lines.joined(separator: "\n") + "\n"
    }

    static let page =
        """
        # Settings

        The agent reads them from the file that `altnet agent --settings FILE` names (on a board `/etc/altnet/altnet.conf`, which has
        them all, commented out) and from environment variables of the same names, which count before the file. `altnet agent
        --check-config --settings FILE` tells everything that is wrong in one go, as `FILE:LINE: NAME is "found"; allowed: ...`, and
        exits with 78; it also looks at the root key, the identity and the certificates, and notes what the agent would wait for.

        A line is `NAME=VALUE`, a comment that begins with `#` or `;`, or empty. White space around name and value does not count. A
        value that has quotes or backslashes, or white space that counts, goes in single quotes, or in double quotes with
        `\\` before `"`, `\\`, `` ` `` and `$`. All that means the same in systemd's `EnvironmentFile=`; what systemd would read
        in another way than a person (a comment after a value, half a value in quotes, lines that go on, a name twice) is refused,
        and so is a name that is no setting. The file has at most 64 KiB.

        What takes effect on reload does so with `systemctl reload altnet` (SIGHUP); see [service.md](service.md#reload). This page is
        written from the table in the code (`Setting.groups`) and checked against it by a test.

        """
        + Setting.groups.map { group in
            """

            ## \(group.title)

            | setting | default | allowed | effect | |
            |---|---|---|---|---|

            """
                + group.settings.map { setting in
                    "| `\(setting.name)` | \(cell(setting.standardText)) | \(cell(setting.form.allowed)) | \(effect(setting)) | "
                        + "\(cell(setting.meaning)) |\n"
                }.joined()
        }.joined()

    private static func cell(_ text: String) -> String { text.split(separator: "|").joined(separator: "\\|") }
}
