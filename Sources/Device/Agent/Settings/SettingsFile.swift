import AgentModel
import Glibc

/// A settings file with `NAME=VALUE` lines: an EnvironmentFile of systemd.exec(5) without ambiguous syntax. Accepted
/// lines mean the same to systemd; other lines are refused.
struct SettingsFile {
    struct Entry {
        let name: String
        let value: String
        let line: Int
    }

    private(set) var entries: [Entry] = []
    private(set) var problems: [InvalidSetting] = []
    private let path: String

    /// Maximum size in bytes, about four times the size of the delivered file.
    static let maximumLength = 64 * 1024
    private static let lineForm = "NAME=VALUE, a comment that begins with # or ;, or nothing"

    /// Reads the valid lines. The invalid ones are in `problems`.
    init(path: String) {
        self.path = path
        switch Self.content(of: path) {
        case .success(let bytes): read(bytes)
        case .failure(let problem): problems = [problem]
        }
    }

    init(path: String, content: [UInt8]) {
        self.path = path
        read(content)
    }

    private mutating func read(_ bytes: [UInt8]) {
        var lines: [String: Int] = [:]
        let rows = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, row) in rows.enumerated() {
            do throws(LineFault) {
                guard let (name, value) = try Self.pair(in: row) else { continue }
                if let first = lines[name] {
                    throw LineFault(subject: name, problem: "is already set in line \(first)", allowed: "once")
                }
                lines[name] = index + 1
                entries.append(Entry(name: name, value: value, line: index + 1))
            } catch {
                problems.append(
                    InvalidSetting(
                        error.subject, error.problem, allowed: error.allowed,
                        origin: .file(path: path, line: index + 1)))
            }
        }
    }

    private struct LineFault: Error {
        var subject = "the line"
        let problem: String
        var allowed = SettingsFile.lineForm
    }

    /// - Returns: nil for a line without a setting.
    private static func pair(in row: ArraySlice<UInt8>) throws(LineFault) -> (name: String, value: String)? {
        let row = row.last == UInt8(ascii: "\r") ? row.dropLast() : row
        guard let text = String(validating: row, as: UTF8.self) else {
            throw LineFault(problem: "is not text in UTF-8")
        }
        let line = text.trimmingBlanks
        guard let first = line.first, first != "#", first != ";" else { return nil }
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7f }) else {
            throw LineFault(problem: "has a control character: \(text.quoted)")
        }
        guard let equals = line.firstIndex(of: "=") else { throw LineFault(problem: "is \(text.quoted)") }
        let name = String(line[..<equals].trimmingBlanks)
        guard let initial = name.utf8.first, initial.isUpperCase, name.utf8.allSatisfy(\.isNameByte) else {
            throw LineFault(problem: "sets \(name.quoted)", allowed: "a name such as ALTNET_INTERFACE before the =")
        }
        do throws(ValueFault) {
            return (name, try value(of: line[line.index(after: equals)...].trimmingBlanks))
        } catch {
            throw LineFault(subject: name, problem: error.problem, allowed: error.allowed)
        }
    }

    private struct ValueFault: Error {
        let problem: String
        let allowed: String
    }

    private static func value(of text: Substring) throws(ValueFault) -> String {
        guard let quote = text.first, quote == "\"" || quote == "'" else {
            guard let stray = text.first(where: { "\"'\\".contains($0) }) else { return String(text) }
            throw ValueFault(
                problem: "is \(String(text).quoted), with \(stray) in it",
                allowed: "quotes around the whole value if it has quotes or backslashes")
        }
        var value = ""
        var rest = text.dropFirst()
        while let next = rest.popFirst() {
            switch next {
            case quote:
                guard rest.isEmpty else {
                    throw ValueFault(
                        problem: "has \(String(rest).quoted) after its closing quote",
                        allowed: "nothing, not even a comment")
                }
                return value
            case "\\" where quote == "\"":
                guard let escaped = rest.popFirst(), "\"\\`$".contains(escaped) else {
                    throw ValueFault(
                        problem: "has a backslash that is not before \" \\ ` $",
                        allowed: "\\\\ for a backslash in double quotes, or single quotes")
                }
                value.append(escaped)
            default: value.append(next)
            }
        }
        throw ValueFault(problem: "has no closing quote", allowed: "\(quote) at its end")
    }
}

extension SettingsFile {
    private static func content(of path: String) -> Result<[UInt8], InvalidSetting> {
        func failed(_ problem: String, _ allowed: String) -> Result<[UInt8], InvalidSetting> {
            .failure(InvalidSetting("the settings file \(path.printable)", problem, allowed: allowed))
        }
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            let reason = errno
            return failed(
                "cannot be read: \(String(cString: strerror(reason)))",
                reason == ENOENT
                    ? "a file that exists; it may be empty, since everything has a default"
                    : "a file that the agent's user can read")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return failed("is not a file", "a regular file")
        }
        // Read one byte more than allowed, to detect a file that is too large or grows meanwhile.
        var bytes = [UInt8](repeating: 0, count: maximumLength + 1)
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes { bytes in
                Glibc.read(file, bytes.baseAddress?.advanced(by: count), bytes.count - count)
            }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else {
                return failed("cannot be read: \(String(cString: strerror(errno)))", "a file on a working disk")
            }
            if more == 0 { break }
            count += more
        }
        guard count <= maximumLength else { return failed("is too large", "at most \(maximumLength) bytes") }
        return .success(Array(bytes.prefix(count)))
    }
}

extension StringProtocol {
    fileprivate var trimmingBlanks: SubSequence {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        guard let last = lastIndex(where: { !isBlank($0) }) else { return self[endIndex...] }
        return self[...last].drop(while: isBlank)
    }
}

extension UInt8 {
    fileprivate var isUpperCase: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
    fileprivate var isNameByte: Bool {
        isUpperCase || self == UInt8(ascii: "_") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
    }
}
