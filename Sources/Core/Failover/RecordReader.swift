import AgentModel

/// Reads a record from its bytes. Everything in it is hostile: it may come from anywhere.
public enum RecordReader {
    /// Reads the runs of a record, in their order.
    /// - Parameter file: the name that errors have.
    public static func runs(in bytes: [UInt8], of file: String) throws(RecordError) -> [RecordedRun] {
        var reading = Reading(file: file)
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n"))
            try reading.take(bytes[start..<(end ?? bytes.count)], isTerminated: end != nil)
            start = end.map { $0 + 1 } ?? bytes.count
        }
        return try reading.finish()
    }
}

/// How far the reading of a file has come.
private struct Reading {
    let file: String
    private var runs: [RecordedRun] = []
    private var line = 0
    /// A header was read, and no event yet.
    private var header: (agent: String, settings: PolicySettings)?
    /// A line that made no sense: no harm if it turns out to be the last one of its run.
    private var fault: (line: Int, expected: String)?

    init(file: String) { self.file = file }

    mutating func take(_ bytes: ArraySlice<UInt8>, isTerminated: Bool) throws(RecordError) {
        line += 1
        if fault != nil {
            // An agent that starts anew ends the line that the one before it could not.
            guard bytes.isEmpty || bytes.starts(with: RecordFormat.heading.utf8) else { throw malformed }
            endCut()
        }
        guard !bytes.isEmpty else { return }
        do throws(RecordWords.Fault) {
            guard isTerminated, bytes.count <= RecordFormat.lineLength,
                let text = String(validating: bytes, as: UTF8.self), !text.hasSuffix(RecordFormat.cut)
            else { throw RecordWords.Fault(expected: "a line of text") }
            try take(text[...])
        } catch {
            fault = (line, error.expected)
        }
        if let version = unsupportedVersion {
            throw RecordError(file: file, reason: .unsupportedVersion(line: line, version))
        }
    }

    mutating func finish() throws(RecordError) -> [RecordedRun] {
        if fault != nil { endCut() }
        endRun()
        guard !runs.isEmpty else {
            throw RecordError(file: file, reason: .malformed(line: max(line, 1), expected: Self.headerForm))
        }
        return runs
    }

    private var unsupportedVersion: String?
    private static let headerForm = "\"\(RecordFormat.heading) \(RecordFormat.version)\" and the agent's version"

    private var malformed: RecordError {
        RecordError(
            file: file, reason: .malformed(line: fault?.line ?? line, expected: fault?.expected ?? "nothing"))
    }

    private mutating func endCut() {
        endHeader()
        if let fault, !runs.isEmpty, runs[runs.count - 1].end == nil {
            runs[runs.count - 1].end = .cut(line: fault.line)
        }
        fault = runs.isEmpty ? fault : nil
    }

    private var lacksActions: Bool {
        runs.last?.steps.last.map { $0.actions.count < $0.actionCount } ?? false
    }

    /// The run before has ended, and has no more than was written of it.
    private mutating func endRun() {
        endHeader()
        guard lacksActions, let step = runs[runs.count - 1].steps.popLast() else { return }
        runs[runs.count - 1].end = runs[runs.count - 1].end ?? .cut(line: step.line + step.actions.count)
    }

    private mutating func endHeader() {
        guard let header else { return }
        runs.append(RecordedRun(agent: header.agent, settings: header.settings))
        self.header = nil
    }

    private mutating func take(_ text: Substring) throws(RecordWords.Fault) {
        var words = RecordWords(text)
        let tag = try words.text("a line")
        switch tag.first {
        case "a" where tag == RecordFormat.heading: try takeHeader(&words)
        case "=" where tag == "=" && header != nil: try takeSetting(&words)
        case "@": try takeEvent(tag.dropFirst(), &words)
        case ">" where tag == ">": try takeAction(text.dropFirst(2))
        case "#" where tag == "#": try takeNote(&words)
        default:
            throw RecordWords.Fault(
                expected: runs.isEmpty && header == nil
                    ? Self.headerForm : "an event (@), an action (>), a note (#) or a header")
        }
    }

    private mutating func takeHeader(_ words: inout RecordWords) throws(RecordWords.Fault) {
        let version = try words.text("the format's version")
        guard RecordFormat.readable.contains(where: { version == $0 }) else {
            unsupportedVersion = String(version.prefix(16).filter { $0.isLetter || $0.isNumber || $0 == "." })
            return
        }
        let agent = try words.text("the agent's version")
        try words.finish()
        endRun()
        header = (String(agent), PolicySettings())
    }

    private mutating func takeSetting(_ words: inout RecordWords) throws(RecordWords.Fault) {
        let name = try words.text("a setting's name")
        let value = try words.text("a setting's value")
        try words.finish()
        if header != nil, PolicySetting.isRetired(name) { return }
        guard var header, let setting = PolicySetting.named(name) else {
            throw RecordWords.Fault(expected: "the name of a setting of the policy")
        }
        guard setting.set(value, in: &header.settings) else { throw RecordWords.Fault(expected: setting.form) }
        self.header = header
    }

    private mutating func takeEvent(_ time: Substring, _ words: inout RecordWords) throws(RecordWords.Fault) {
        guard let at = Instant(word: time) else { throw RecordWords.Fault(expected: Instant.form) }
        let actionCount = try words.next(Int.self)
        let event = try PolicyEvent(&words)
        endHeader()
        guard !runs.isEmpty else { throw RecordWords.Fault(expected: Self.headerForm) }
        guard runs[runs.count - 1].end == nil else { return }
        guard !lacksActions else { throw RecordWords.Fault(expected: "another action (>)") }
        runs[runs.count - 1].steps.append(
            RecordedRun.Step(line: line, at: at, event: event, actionCount: actionCount))
    }

    private mutating func takeAction(_ text: Substring) throws(RecordWords.Fault) {
        guard let run = runs.indices.last, header == nil, let step = runs[run].steps.indices.last else {
            throw RecordWords.Fault(expected: "an event before its actions")
        }
        guard runs[run].end == nil else { return }
        guard lacksActions else { throw RecordWords.Fault(expected: "no more actions") }
        runs[run].steps[step].actions.append(String(text))
    }

    private mutating func takeNote(_ words: inout RecordWords) throws(RecordWords.Fault) {
        let end: RecordedRun.End
        switch try words.text("a note") {
        case "gap": end = .gap(line: line, missed: try words.next())
        case "full": end = .full
        default: throw RecordWords.Fault(expected: "the note gap or full")
        }
        try words.finish()
        endHeader()
        guard let run = runs.indices.last else { throw RecordWords.Fault(expected: Self.headerForm) }
        if runs[run].end == nil { runs[run].end = end }
    }
}
