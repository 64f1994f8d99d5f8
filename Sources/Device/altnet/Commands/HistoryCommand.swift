import AppClient
import AppProtocol
import ArgumentParser
import Terminal

struct HistoryCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Show the device's decisions and their reasons.",
        discussion: "Shows each decision with its reason and the measurements at that time, the newest last.")

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Show at most this many decisions, 1 to 200.", valueName: "number"))
    var limit = ProtocolLimits.defaultHistoryDecisions

    func validate() throws {
        guard ProtocolLimits.historyDecisions.contains(limit) else { throw ValidationError("--limit must be 1 to 200") }
    }

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let history = try await device.history(limit: limit)
        if connection.json { return console.print(json: history) }
        guard !history.decisions.isEmpty else { return console.print("The device has made no decision yet.") }
        let now = console.now()
        let older = history.isTruncated ? ["Older decisions were left out."] : []
        let decisions = history.decisions.map { DecisionView(decision: $0, now: now).render(console.style) }
        console.print((older + decisions).joined(separator: "\n"))
    }
}

struct DecisionView {
    let decision: Decision
    let now: Timestamp

    func render(_ style: Style) -> String {
        let age = DisplayText.ago(decision.time, now: now)
        var lines = [
            style.heading(Self.move(decision, style)) + "  " + style.paint(age, .dim),
            "  \(decision.text.printable) " + style.paint("[\(decision.reason.rawValue.printable)]", .dim),
        ]
        if !decision.candidates.isEmpty {
            var table = Table(columns: [
                .init(title: "CANDIDATE", minimum: 12), .init(title: "dBm", isRightAligned: true),
                .init(title: "MHz", isRightAligned: true, rank: 1), .init(title: "VERDICT", minimum: 8),
            ])
            table.rows = decision.candidates.map(row)
            var narrower = style
            if style.width != .max { narrower.width -= Self.indent.count }
            lines += table.render(narrower).split(separator: "\n").map { Self.indent + $0 }
        }
        return lines.joined(separator: "\n")
    }

    /// Returns a line such as `move HomeNet → BackupNet`.
    static func move(_ decision: Decision, _ style: Style) -> String {
        let kind = DisplayText.name(decision.kind)
        switch (decision.from?.ssid, decision.to?.ssid) {
        case (let from?, let to?) where from == to: return "\(kind) \(to)"
        case (let from?, let to?): return "\(kind) \(from) \(style.arrow) \(to)"
        case (nil, let ssid?), (let ssid?, nil): return "\(kind) \(ssid)"
        case (nil, nil): return decision.by.map { "\(kind) by \($0.text.printable)" } ?? kind
        }
    }

    private static let indent = "    "

    private func row(_ candidate: Decision.Candidate) -> [Table.Cell] {
        [
            .init(candidate.ssid.description),
            .init(candidate.signal.map(String.init) ?? "-", candidate.signal.map(DisplayText.paint)),
            .init(candidate.frequency.map { String($0.megahertz) } ?? "-"),
            .init(candidate.verdict.rawValue.printable),
        ]
    }
}
