import AgentCore
import AgentModel
import KeyFile

/// The reason for the open setup access point, in a file in /run, so that a restarted agent keeps the access point
/// open. The file is void after a reboot.
struct SetupAccessPointFile: BootRecord {
    let directory: String

    static let name = "rescue"
    private static let version = "altnet-rescue 1"
    /// Maximum length in bytes, far more than four lines need.
    private static let longest = 512

    private var file: SmallFile { SmallFile(directory: directory, name: Self.name, longest: Self.longest) }

    /// Returns the content; nil if the file is missing or malformed.
    /// - Parameter boot: ID of this boot.
    func read(boot: String, now: Instant) -> SetupAccessPoint.Opening? {
        guard let content = file.read() else { return nil }
        return Self.opening(in: content, boot: boot, now: now)
    }

    /// - Throws: `KeyFileError`. The old file stays.
    func write(_ opening: SetupAccessPoint.Opening?, boot: String) throws(KeyFileError) {
        try file.write(Self.text(of: opening, boot: boot))
    }

    static func text(of opening: SetupAccessPoint.Opening?, boot: String) -> String {
        var lines = [version, "boot \(boot)"]
        if let opening {
            lines.append(
                "\(opening.reason.rawValue) \(opening.since.milliseconds)\(opening.hasArrived ? " arrived" : "")")
        }
        return lines.joined(separator: "\n") + "\nend\n"
    }

    /// Parses untrusted content. Malformed content counts as missing.
    static func opening(in bytes: [UInt8], boot: String, now: Instant) -> SetupAccessPoint.Opening? {
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        guard bytes.count < longest, lines.count == 4, lines[0] == version, lines[1] == "boot \(boot)",
            lines[3] == "end", !boot.isEmpty
        else { return nil }
        let words = lines[2].split(separator: " ")
        guard words.count >= 2, let reason = SetupAccessPoint.Reason(rawValue: String(words[0])),
            let milliseconds = Int64(words[1]), (0...now.milliseconds).contains(milliseconds)
        else { return nil }
        return SetupAccessPoint.Opening(
            reason: reason, since: Instant(milliseconds: milliseconds), hasArrived: words.dropFirst(2) == ["arrived"])
    }
}
