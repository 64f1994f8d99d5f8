import AppProtocol
import KeyFile

/// The answer of `altnet keyfile verify --json`.
struct SectorsDocument: Encodable {
    let keyfile: KeyFileFacts
    /// Whether records were checked with the root key, and not only by their checksums.
    let authenticated: Bool
    /// `inOrder`, `remarks` or `damaged`.
    let verdict: String
    /// Why the key file does not open.
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
    /// Stands for it in JSON.
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
