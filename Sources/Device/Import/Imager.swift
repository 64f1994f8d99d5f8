import AgentModel

/// What the Raspberry Pi Imager leaves on the boot partition: `custom.toml` (raspberrypi-sys-mods, init_config) and
/// `firstrun.sh`. Its `network-config` is cloud-init's, and its `wpa_supplicant.conf` wpa_supplicant's.
public enum ImagerSource {
    /// The `[wlan]` of a custom.toml.
    public static func customTOML(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            var draft: NetworkDraft?
            /// The table that the line is in, if it is `wlan` or one whose name begins so.
            var table: SourceText?
            var isBeforeTables = true
            var stray: Int?
            for (number, line) in text.lines {
                let line = line.trimmed
                guard let first = line.first, first != UInt8(ascii: "#") else { continue }
                if first == UInt8(ascii: "[") {
                    isBeforeTables = false
                    let name = line.dropFirst().prefix { $0 != UInt8(ascii: "]") }.trimmed
                    table = name.starts(with: "wlan") ? name : nil
                    if table != nil, draft == nil { draft = NetworkDraft(Place(source, line: number)) }
                    continue
                }
                if isBeforeTables, isNameOfCredential(line.prefix { $0 != UInt8(ascii: "=") }.name) { stray = number }
                guard let table else { continue }
                guard let (key, value) = line.split(at: UInt8(ascii: "=")) else {
                    throw MalformedSource("the line is neither [table] nor key = value", line: number)
                }
                let text = value.trimmed
                let name = try self.key(key.trimmed, line: number)
                guard table.isEqual(to: "wlan") else {
                    draft?.doubt = .unknownSetting(table.name + "." + name)
                    continue
                }
                switch name {
                case "ssid": draft?.name = try string(text, line: number)
                case "password":
                    var bytes = try string(text, line: number)
                    let secret = Secret(consuming: &bytes)
                    draft?.password = secret.count == 0 ? .missing : secret.keyOrPassphrase
                case "hidden": draft?.isHidden = text.starts(with: "true")
                case "country", "password_encrypted": break
                case let other: draft?.doubt = .unknownSetting(other)
                }
            }
            guard var draft, draft.name != nil else { return }
            if case .missing = draft.password { draft.security = .open }
            if let stray { draft.doubt = .strayCredential(line: stray) }
            contents.add(draft)
        }
    }

    /// A key as it is, or in quotes.
    private static func key(_ text: SourceText, line: Int) throws(MalformedSource) -> String {
        guard text.first == UInt8(ascii: "\"") || text.first == UInt8(ascii: "'") else { return text.name }
        return String(decoding: try string(text, line: line), as: UTF8.self)
    }

    /// A basic string, or a literal one, on one line.
    private static func string(_ text: SourceText, line: Int) throws(MalformedSource) -> [UInt8] {
        let fault = MalformedSource("the value is no string on one line", line: line)
        guard let quote = text.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { throw fault }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text.dropFirst()
        while let byte = rest.popFirst() {
            if byte == quote {
                guard rest.trimmed.isEmpty || rest.trimmed.first == UInt8(ascii: "#") else { break }
                return bytes
            }
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\"") {
                guard let escape = rest.popFirst(), let plain = unescaped(escape, &rest) else { break }
                bytes += plain
            } else {
                bytes.append(byte)
            }
        }
        bytes.withUnsafeMutableBytes { wipe($0) }
        throw fault
    }

    private static func unescaped(_ escape: UInt8, _ rest: inout SourceText) -> [UInt8]? {
        switch escape {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): return [escape]
        case UInt8(ascii: "b"): return [8]
        case UInt8(ascii: "t"): return [9]
        case UInt8(ascii: "n"): return [10]
        case UInt8(ascii: "f"): return [12]
        case UInt8(ascii: "r"): return [13]
        case UInt8(ascii: "u"), UInt8(ascii: "U"):
            let digits = rest.prefix(escape == UInt8(ascii: "u") ? 4 : 8)
            guard digits.count == (escape == UInt8(ascii: "u") ? 4 : 8), digits.allSatisfy(\.isHexDigit) else {
                return nil
            }
            rest = rest.dropFirst(digits.count)
            let value = digits.reduce(UInt32(0)) { $0 << 4 | UInt32($1.hexValue ?? 0) }
            return Unicode.Scalar(value).map { Array(String($0).utf8) }
        default: return nil
        }
    }

    /// The arguments of `imager_custom set_wlan`, and the wpa_supplicant.conf in a here-document, which are for the
    /// same network.
    public static func firstRun(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            var lines = text.lines[...]
            while let (number, line) = lines.popFirst() {
                if let words = try arguments(line, line: number) {
                    contents.addImagerNetwork(words, Place(source, line: number))
                } else if let (end, isLiteral) = hereDocument(line) {
                    let body = lines.prefix { !$0.text.trimmed.elementsEqual(end) }
                    lines = lines.dropFirst(body.count)
                    // What the shell would write is not known.
                    let isMadeUp = body.first { $0.text.contains { "$`\\".utf8.contains($0) } }
                    if !isLiteral, let (number, _) = isMadeUp {
                        throw MalformedSource("the script makes up a word as it runs", line: number)
                    }
                    try contents.addSupplicantNetworks(Array(body), from: source, interface: nil)
                }
            }
        }
    }

    /// The word that ends the document, where this line writes wpa_supplicant's configuration, and whether the shell
    /// leaves the document as it is.
    private static func hereDocument(_ line: SourceText) -> (end: [UInt8], isLiteral: Bool)? {
        guard line.firstIndex(of: "wpa_supplicant") != nil, let mark = line.firstIndex(of: "<<") else { return nil }
        let rest = line[mark...].dropFirst(2)
        let word = rest.drop { "-'\"\\ ".utf8.contains($0) }
            .prefix { (UInt8(ascii: "A")...UInt8(ascii: "z")).contains($0) && $0 != UInt8(ascii: "\\") }
        let isLiteral = rest[..<word.startIndex].contains { "'\"\\".utf8.contains($0) }
        return word.isEmpty ? nil : (Array(word), isLiteral)
    }

    /// Those of set_wlan, as a shell takes them apart; nil for another line.
    private static func arguments(_ line: SourceText, line number: Int) throws(MalformedSource) -> [Secret]? {
        let command: StaticString = "imager_custom set_wlan "
        guard line.trimmedStart.first != UInt8(ascii: "#"),
            let start = line.firstIndex(of: command)
        else { return nil }
        var words: [Secret] = []
        var rest = line[start...].dropFirst(command.utf8CodeUnitCount)
        while true {
            rest = rest.trimmedStart
            guard let first = rest.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { return words }
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
                // At its end the line goes on in the next one.
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
            default: bytes.append(byte)
            }
        }
        let word = Secret(consuming: &bytes)
        guard quote == nil, isWhole else { throw MalformedSource("the script makes up a word as it runs", line: line) }
        return word
    }
}

extension SourceContents {
    fileprivate mutating func addImagerNetwork(_ arguments: [Secret], _ place: Place) {
        var draft = NetworkDraft(place)
        draft.security = .open
        var isPasswordNext = false
        for argument in arguments {
            let option = argument.withBytes { bytes in
                ["-h", "--hidden", "-p", "--plain"].first { $0.utf8.elementsEqual(bytes) }
            }
            if let option {
                if option == "-h" || option == "--hidden" { draft.isHidden = true }
            } else if draft.name == nil {
                draft.name = argument.withBytes { Array($0) }
                isPasswordNext = true
            } else if isPasswordNext {
                isPasswordNext = false
                guard argument.count > 0 else { continue }
                (draft.security, draft.password) = (.psk, argument.keyOrPassphrase)
            }
        }
        add(draft)
    }
}
