/// Reads a record from untrusted bytes.
public enum RecordReader {
    /// Reads the runs of a record, in their order.
    /// - Parameter file: the name for errors.
    public static func runs(in bytes: [UInt8], of file: String) throws(RecordError) -> [RecordedRun] {
        var reading = Reading(file: file)
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            try reading.take(line)
        }
        return try reading.finish()
    }
}

/// How far the reading of a file has come.
private struct Reading {
    let file: String
    private var runs: [RecordedRun] = []
    private var line = 0
    /// A malformed line. It may be the last one of its run, which a power cut has cut short. A part of a line is never
    /// a line: its closing bracket is missing.
    private var fault: (line: Int, problem: String)?

    init(file: String) { self.file = file }

    mutating func take(_ text: ArraySlice<UInt8>) throws(RecordError) {
        line += 1
        guard !text.isEmpty else { return }
        do throws(RecordLine.Fault) {
            try take(RecordLine(text))
        } catch {
            switch error {
            case .otherVersion(let version, let agent):
                throw RecordError(file: file, reason: .unsupportedVersion(line: line, version, agent: agent))
            case .retired: break
            case .malformed(let problem):
                if let fault { throw malformed(fault) }
                fault = (line, problem)
            }
        }
    }

    private mutating func take(_ entry: RecordLine) throws(RecordLine.Fault) {
        if case .run(_, let agent, let settings) = entry {
            endCut()
            runs.append(RecordedRun(agent: agent, settings: settings))
            return
        }
        if let fault { throw .malformed(fault.problem) }
        guard let run = runs.indices.last else { throw .malformed("the line is before the run that it is part of") }
        guard runs[run].end == nil else { return }
        switch entry {
        case .run: break
        case .step(let at, let event, let actions):
            runs[run].steps.append(RecordedRun.Step(line: line, at: at, event: event, actions: actions))
        case .gap(let missed): runs[run].end = .gap(line: line, missed: missed)
        case .full: runs[run].end = .full
        }
    }

    mutating func finish() throws(RecordError) -> [RecordedRun] {
        guard !runs.isEmpty else { throw malformed(fault ?? (max(line, 1), "it has no run")) }
        endCut()
        return runs
    }

    private func malformed(_ fault: (line: Int, problem: String)) -> RecordError {
        RecordError(file: file, reason: .malformed(line: fault.line, fault.problem))
    }

    /// Marks the run as cut at a malformed line, if there is one.
    private mutating func endCut() {
        if let fault, let run = runs.indices.last, runs[run].end == nil { runs[run].end = .cut(line: fault.line) }
        fault = nil
    }
}
