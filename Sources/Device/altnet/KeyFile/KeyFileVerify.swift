import AppProtocol
import ArgumentParser
import KeyFile
import Terminal

struct KeyFileVerify: KeyFileSubcommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check every sector of the key file.",
        discussion: """
            Checks the header and records of each sector, the authenticity of each record, and the order of the \
            sectors. Without the root key, checks only checksums. Changes nothing and also works while the agent runs.

            The exit status is 65 if the key file is damaged, else 0, also after a power cut.
            """)

    @OptionGroup var options: KeyFileOptions

    @Flag(help: "Check only checksums, without the root key.")
    var noRootKey = false

    func run(_ console: Console) throws {
        let place = try options.place()
        let examination = try place.examineExisting(usingRootKey: !noRootKey)
        let document = SectorsDocument(examination, place, isInUse: try place.isInUse())
        if options.json {
            console.print(json: document)
        } else {
            console.print(SectorsView(examination: examination, path: place.path).render(console.style))
        }
        if examination.verdict == .damaged { throw ExitCode(ExitStatus.badData.rawValue) }
    }
}

struct SectorsDocument: Encodable {
    let keyfile: KeyFileFacts
    /// Whether records were checked with the root key, and not just by checksum.
    let authenticated: Bool
    /// Verdict: `inOrder`, `remarks` or `damaged`.
    let verdict: String
    let refusal: String?
    let sectors: [SectorDocument]
    let findings: [FindingDocument]

    init(_ examination: Examination, _ place: StorePlace, isInUse: Bool) {
        keyfile = KeyFileFacts(examination, place, isInUse: isInUse)
        authenticated = examination.content != .sealed
        verdict = examination.verdict.rawValue
        refusal = if case .refused(let error) = examination.content { "\(error)" } else { nil }
        sectors = examination.sectors.map(SectorDocument.init)
        findings = examination.findings.map(FindingDocument.init)
    }
}

struct SectorDocument: Encodable {
    let sector: Int
    let state: String
    let eraseCount: UInt32?
    let sequence: UInt64?
    let begun: Timestamp?
    let records: Int
    let firstGeneration: UInt64?
    let lastGeneration: UInt64?
    let usedBytes: Int
    let bytes: Int
    let problems: [Problem]

    struct Problem: Encodable {
        let text: String
        let damage: Bool
    }

    init(_ report: SectorReport) {
        sector = report.index
        state = report.state.code
        eraseCount = report.header?.eraseCount
        sequence = report.header?.sequence
        begun = report.header.map { Timestamp(seconds: $0.begun) }
        records = report.records
        firstGeneration = report.generations?.lowerBound
        lastGeneration = report.generations?.upperBound
        usedBytes = report.used
        bytes = report.size
        problems = report.problems.map { Problem(text: "\($0)", damage: $0.isDamage) }
    }
}

extension SectorReport.State {
    fileprivate var code: String {
        switch self {
        case .current: "current"
        case .older: "older"
        case .blank: "blank"
        case .unfinished: "unfinished"
        case .damaged: "damaged"
        case .otherVersion: "otherVersion"
        case .otherKey: "otherKey"
        }
    }
}

struct SectorsView {
    let examination: Examination
    let path: String

    func render(_ style: Style) -> String {
        var lines = [table(style).render(style)]
        let problems = examination.sectors.flatMap { sector in
            sector.problems.map { ($0.isDamage, "sector \(sector.index): \($0)") }
        }
        let findings = examination.findings.map { ($0.isSerious, "\($0)") }
        let remarks = problems + findings
        if !remarks.isEmpty { lines.append("") }
        lines += remarks.map { isSerious, text in
            style.paint(isSerious ? "! " : "- ", isSerious ? .red : .yellow) + text.printable
        }
        return (lines + ["", verdict(style)]).joined(separator: "\n")
    }

    private func table(_ style: Style) -> Table {
        Table(
            columns: [
                .init(title: "SECTOR", isRightAligned: true), .init(title: "STATE", minimum: 8),
                .init(title: "ERASED", isRightAligned: true, rank: 4),
                .init(title: "SEQUENCE", isRightAligned: true, rank: 1), .init(title: "BEGUN", rank: 2),
                .init(title: "RECORDS", isRightAligned: true, rank: 5), .init(title: "GENERATIONS", rank: 3),
                .init(title: "USED", minimum: 4, rank: 6),
            ],
            rows: examination.sectors.map { row($0, style) })
    }

    private func row(_ sector: SectorReport, _ style: Style) -> [Table.Cell] {
        let header = sector.header
        let generations = sector.generations.map { "\($0.lowerBound)-\($0.upperBound)" }
        let share = Double(sector.used) / Double(max(1, sector.size))
        return [
            "\(sector.index)", .init(Self.words(for: sector.state), Self.paint(sector)),
            .init(header.map { "\($0.eraseCount)" } ?? "-"), .init(header.map { "\($0.sequence)" } ?? "-"),
            .init(header.map { DisplayText.date(seconds: $0.begun) } ?? "-"), "\(sector.records)",
            .init(generations ?? "-"), "\(DisplayText.bar(share, style)) \(sector.used) of \(sector.size)",
        ]
    }

    private static func words(for state: SectorReport.State) -> String {
        switch state {
        case .current: "current"
        case .older: "older copy"
        case .blank: "blank"
        case .unfinished: "cut short"
        case .damaged: "damaged"
        case .otherVersion(let version): "version \(version)"
        case .otherKey: "other key"
        }
    }

    private static func paint(_ sector: SectorReport) -> Style.Paint? {
        if sector.problems.contains(where: \.isDamage) { return .red }
        switch sector.state {
        case .current: return .green
        case .older, .unfinished: return nil
        case .blank: return .dim
        case .damaged, .otherVersion, .otherKey: return .red
        }
    }

    private func verdict(_ style: Style) -> String {
        let path = path.printable
        let extent = examination.content == .sealed ? " Only checksums were checked, without a root key." : ""
        switch (examination.verdict, examination.content) {
        case (_, .refused(let error)): return style.paint("\(error)".printable, .red)
        case (.inOrder, _): return style.paint("\(path) is in order.", .green) + extent
        case (.remarks, _): return style.paint("\(path) is in order, with remarks.", .green) + extent
        case (.damaged, .state(_, let generation)):
            return style.paint("\(path) is damaged. Its state of generation \(generation) can be read.", .red)
        case (.damaged, .empty): return style.paint("\(path) is damaged. No state can be read from it.", .red)
        case (.damaged, .sealed): return style.paint("\(path) is damaged.", .red) + extent
        }
    }
}
