import AgentModel

/// Reads files of the Raspberry Pi Imager on the boot partition: `custom.toml` (raspberrypi-sys-mods, init_config) and
/// `firstrun.sh`. ``NetplanSource`` reads its `network-config`, and ``WpaSupplicantSource`` its `wpa_supplicant.conf`.
public enum ImagerSource {
    public static func customTOML(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            let values = try TOMLText(text)
            for table in values.tables where table.path.count > 1 || settings[table.path[0]] == nil {
                contents.report(unknown: ImportLocation(source, line: table.line))
            }
            guard
                let first = values.tables.first(where: { $0.path == ["wlan"] })?.line
                    ?? values.entries.first(where: { $0.path.first == "wlan" })?.line
            else {
                for entry in values.entries where settings[entry.table] == nil {
                    contents.report(unknown: ImportLocation(source, line: entry.line))
                }
                return
            }
            var draft = NetworkDraft(ImportLocation(source, line: first))
            draft.security = .open
            for entry in values.entries {
                switch (entry.path.joined(separator: "."), entry.value) {
                case ("wlan.ssid", .string(let name)): draft.name = name.withBytes { Array($0) }
                case ("wlan.password", .string(let password)):
                    if password.count > 0 { (draft.security, draft.password) = (.psk, password.keyOrPassphrase) }
                case ("wlan.hidden", .word(let word)): draft.isHidden = word == "true"
                case ("wlan.password_encrypted", .word(let word)): draft.hasCredential = word == "true"
                case ("wlan.ssid", _):
                    throw MalformedSource("the value is not a string on one line", line: entry.line)
                case ("wlan.password", _):
                    (draft.security, draft.password) = (.psk, .malformed("its password is not a string"))
                default:
                    guard entry.path.count > 2 || settings[entry.table]?.contains(entry.path.last ?? "") != true else {
                        continue
                    }
                    contents.doubt(ImportLocation(source, line: entry.line))
                }
            }
            if case .open = draft.security, draft.name == nil { return }
            contents.add(draft)
        }
    }

    /// Known settings by table (raspberrypi-sys-mods, init_config). The root table has an empty name.
    private static let settings: [String: Set<String>] = [
        "": ["config_version"], "system": ["hostname"], "user": ["name", "password", "password_encrypted"],
        "ssh": ["enabled", "password_authentication", "authorized_keys", "ssh_import_id"],
        "wlan": ["ssid", "password", "password_encrypted", "hidden", "country"], "locale": ["keymap", "timezone"],
    ]

    private static func isComment(_ rest: SourceText) -> Bool {
        rest.trimmed.first.map { $0 == UInt8(ascii: "#") } ?? true
    }

    /// Reads the arguments of `imager_custom set_wlan` and the wpa_supplicant.conf in a here-document. Both describe
    /// the same network.
    public static func firstRun(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            var lines = text.lines[...]
            while let (number, line) = lines.popFirst() {
                if let (words, isWhole) = try arguments(line, line: number) {
                    contents.addImagerNetwork(words, isWhole: isWhole, ImportLocation(source, line: number))
                } else if let (end, isLiteral) = hereDocument(line) {
                    let body = lines.prefix { !$0.text.trimmed.elementsEqual(end) }
                    lines = lines.dropFirst(body.count + 1)
                    // Refuse text that the shell would expand, as the result is unknown.
                    let isMadeUp = body.first { $0.text.contains { "$`\\".utf8.contains($0) } }
                    if !isLiteral, let (number, _) = isMadeUp {
                        throw MalformedSource("the script builds a word at run time", line: number)
                    }
                    try contents.addSupplicantNetworks(Array(body), from: source, interface: nil)
                } else if isAboutNetworks(line) {
                    contents.report(unknown: ImportLocation(source, line: number))
                } else if !isAboutOthers(line.trimmed) {
                    contents.doubt(ImportLocation(source, line: number))
                }
            }
        }
    }

    /// Returns the delimiter of a here-document with wpa_supplicant's configuration, and whether the shell leaves its
    /// text unchanged; nil for another line.
    private static func hereDocument(_ line: SourceText) -> (end: [UInt8], isLiteral: Bool)? {
        guard line.firstIndex(of: "wpa_supplicant") != nil, let mark = line.firstIndex(of: "<<") else { return nil }
        let rest = line[mark...].dropFirst(2)
        let word = rest.drop { "-'\"\\ ".utf8.contains($0) }
            .prefix { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
        let isLiteral = rest[..<word.startIndex].contains { "'\"\\".utf8.contains($0) }
        return word.isEmpty ? nil : (Array(word), isLiteral)
    }

    /// Whether the line begins like a line that the Imager writes, and does not concern a network.
    private static func isAboutOthers(_ line: SourceText) -> Bool {
        guard !isComment(line), !keywords.contains(where: { line.isEqual(to: $0) }) else { return true }
        return beginnings.contains { line.starts(with: $0) }
    }

    private static func isAboutNetworks(_ line: SourceText) -> Bool {
        !isComment(line) && ofNetworks.contains { line.firstIndex(of: $0) != nil }
    }

    private static let keywords: [StaticString] = ["else", "fi", "then", "do", "done", "KBEOF"]
    private static let beginnings: [StaticString] = [
        "set ", "if [ ", "if grep ", "elif [ ", "for filename in ", "echo ", "sed ", "rm ", "exit", "chmod ",
        "rfkill unblock ", "systemctl ", "usermod ", "groupmod ", "install ", "dpkg-reconfigure ",
        "cat >/etc/default/keyboard ", "XKB", "FIRSTUSER=", "FIRSTUSERHOME=", "CURRENT_HOSTNAME=",
        "/usr/lib/userconf-pi/userconf ", "/usr/lib/raspberrypi-sys-mods/imager_custom set_hostname ",
        "/usr/lib/raspberrypi-sys-mods/imager_custom enable_ssh",
        "/usr/lib/raspberrypi-sys-mods/imager_custom import_ssh_id ",
        "/usr/lib/raspberrypi-sys-mods/imager_custom set_keymap ",
        "/usr/lib/raspberrypi-sys-mods/imager_custom set_timezone ",
        "/usr/lib/raspberrypi-sys-mods/imager_custom set_wlan_country ",
    ]
    private static let ofNetworks: [StaticString] = [
        "set_wlan ", "psk", "passphrase", "ssid", "nmcli", "system-connections/", "netplan",
    ]

    /// Returns the arguments of `set_wlan`, split as in a shell, and whether the line ends after them; nil for another
    /// line.
    private static func arguments(
        _ line: SourceText, line number: Int
    ) throws(MalformedSource) -> (words: [Secret], isWhole: Bool)? {
        let command: StaticString = "imager_custom set_wlan "
        guard line.trimmedStart.first != UInt8(ascii: "#"),
            let start = line.firstIndex(of: command)
        else { return nil }
        var words: [Secret] = []
        var rest = line[start...].dropFirst(command.utf8CodeUnitCount)
        while true {
            rest = rest.trimmedStart
            guard let first = rest.first, first != UInt8(ascii: "#") else { return (words, true) }
            if first == UInt8(ascii: ";") { return (words, isComment(rest.dropFirst())) }
            words.append(try word(&rest, line: number))
        }
    }

    private static func word(_ rest: inout SourceText, line: Int) throws(MalformedSource) -> Secret {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(rest.count)
        var quote: UInt8?
        var isWhole = true
        while let byte = rest.first {
            if quote == nil, byte.isBlank || byte == UInt8(ascii: ";") { break }
            rest = rest.dropFirst()
            switch (byte, quote) {
            case (UInt8(ascii: "'"), nil), (UInt8(ascii: "\""), nil): quote = byte
            case _ where byte == quote: quote = nil
            case (UInt8(ascii: "\\"), nil):
                // A backslash at the end continues the line.
                if let next = rest.popFirst() { bytes.append(next) } else { isWhole = false }
            case (UInt8(ascii: "\\"), UInt8(ascii: "\"")):
                if let next = rest.first, "\"\\$`".utf8.contains(next) {
                    bytes.append(next)
                    rest = rest.dropFirst()
                } else {
                    bytes.append(byte)
                }
            case (UInt8(ascii: "$"), nil), (UInt8(ascii: "`"), nil), (UInt8(ascii: "$"), UInt8(ascii: "\"")),
                (UInt8(ascii: "`"), UInt8(ascii: "\"")):
                isWhole = false
            // Operators and patterns of the shell.
            case (_, nil) where "|&<>()*?[".utf8.contains(byte): isWhole = false
            default: bytes.append(byte)
            }
        }
        let word = Secret(consuming: &bytes)
        guard quote == nil, isWhole else { throw MalformedSource("the script builds a word at run time", line: line) }
        return word
    }
}

extension TOMLText.Entry {
    /// Name of the table of a setting, such as `wlan`; empty for the root table.
    fileprivate var table: String { path.count > 1 ? path[0] : "" }
}

extension SourceContents {
    fileprivate mutating func addImagerNetwork(_ arguments: [Secret], isWhole: Bool, _ place: ImportLocation) {
        var draft = NetworkDraft(place)
        draft.security = .open
        let options: [StaticString] = ["-h", "--hidden", "-p", "--plain"]
        let words = arguments.drop { argument in
            argument.withBytes { bytes in
                guard let option = options.firstIndex(where: { $0.bytes.elementsEqual(bytes) }) else { return false }
                if option < 2 { draft.isHidden = true }
                return true
            }
        }
        let texts = Array(words.prefix(3))
        if let name = texts.first?.withBytes({ Array($0) }), name.first != UInt8(ascii: "-") { draft.name = name }
        if texts.count > 1, texts[1].count > 0 { (draft.security, draft.password) = (.psk, texts[1].keyOrPassphrase) }
        let isCountry = texts.count < 3 || texts[2].withBytes { $0.isEmpty || $0.count == 2 }
        if !isWhole || !isCountry || words.count > 3 || draft.name == nil { doubt(place) }
        add(draft)
    }
}
