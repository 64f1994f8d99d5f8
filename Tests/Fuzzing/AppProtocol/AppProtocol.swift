import AppProtocol

extension FuzzTarget {
    /// A conversation with a device, and each of its lines as an app reads it.
    static let appProtocol = FuzzTarget(
        "app-protocol", "what a client sends in one connection, and a line from a device", longest: 4096,
        seeds: { TestFile.examples(in: "Docs/protocol.md") }
    ) { bytes in
        converse(bytes)
        for line in bytes.split(separator: UInt8(ascii: "\n")) { read(Array(line)) }
    }
}

/// A conversation with a device. However the bytes arrive, the lines are the same; every line has one answer, which can
/// be read; and what was refused has changed nothing.
private func converse(_ bytes: [UInt8]) {
    var (whole, pieces) = (LineSplitter(), LineSplitter())
    whole.append(bytes)
    var expected: [LineSplitter.Output] = []
    while let output = whole.next() { expected.append(output) }
    var found: [LineSplitter.Output] = []
    for piece in Fuzzing.pieces(of: bytes) {
        pieces.append(piece)
        while let output = pieces.next() { found.append(output) }
    }
    precondition(found == expected, "the lines depend on how they arrive")
    var device = FuzzedDevice()
    for case .line(let line) in expected { device.receive(line) }
}

/// What an app makes of a line from a device: a value or an error; a value that is written reads the same.
private func read(_ line: [UInt8]) {
    guard let content = try? ServerLine(line: line) else { return }
    switch content {
    case .event(let event):
        let written = event.line()
        guard case .event(let again)? = try? ServerLine(line: written) else { preconditionFailure("no event any more") }
        precondition(again == event, "an event reads otherwise once it is written")
    case .answer(let id, nil):
        for body in bodies(of: line) {
            let written = Response(id: id, result: .success(body)).line()
            precondition(bodies(of: written).contains(body), "an answer reads otherwise once it is written")
        }
    case .answer(let id, let failure?):
        let written = Response(id: id, result: .failure(failure)).line()
        guard case .answer(id, failure)? = try? ServerLine(line: written) else {
            preconditionFailure("an error reads otherwise once it is written")
        }
    case .unknown: break
    }
}

/// Everything that the line can be the answer to.
private func bodies(of line: [UInt8]) -> [Response.Body] {
    [
        (try? ServerLine.body(Capabilities.self, of: line)).map { .capabilities($0) },
        (try? ServerLine.body(NetworkStatus.self, of: line)).map { .network($0) },
        (try? ServerLine.body(BackupList.self, of: line)).map { .backups($0) },
        (try? ServerLine.body(SwitchStatus.self, of: line)).map { .switchStatus($0) },
        (try? ServerLine.body(ScanStarted.self, of: line)).map { .scanStarted($0) },
        (try? ServerLine.body(ScanResults.self, of: line)).map { .scan($0) },
        (try? ServerLine.body(Subscribed.self, of: line)).map { .subscribed($0) },
        (try? ServerLine.body(History.self, of: line)).map { .history($0) },
        (try? ServerLine.body(SealingKey.self, of: line)).map { .key($0) },
    ].compactMap(\.self)
}
