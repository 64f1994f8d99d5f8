import AppProtocol

@testable import Hotspots

extension FuzzTarget {
    /// A line is read by everybody, whichever of them it is for; and the same bytes are a conversation.
    static let providerLines = FuzzTarget(
        "provider-lines", "a line of a hotspot provider, its host or the agent", longest: 4096,
        seeds: { TestFile.examples(in: "Docs/providers.md") }
    ) { bytes in
        readAsRequest(bytes)
        for kind in ProviderRequest.Kind.allCases { readAsAnswer(bytes, of: kind) }
        readAsHostLines(bytes)
        converse(bytes)
    }
}

/// What can be read is written so that it reads the same.
private func readAsRequest(_ line: [UInt8]) {
    do throws(RejectedRequest) {
        let request = try ProviderRequest(line: line)
        guard let again = try? ProviderRequest(line: request.line()) else {
            preconditionFailure("a request does not survive being written")
        }
        precondition(again == request)
    } catch {
        precondition(error.error.message.utf8.count < 400)
    }
}

private func readAsAnswer(_ line: [UInt8], of kind: ProviderRequest.Kind) {
    do throws(ProviderFault) {
        let answer = try ProviderAnswer(line: line, to: "1", of: kind)
        check(answer)
        guard let again = try? ProviderAnswer(line: answer.line(to: "1"), to: "1", of: kind) else {
            preconditionFailure("an answer does not survive being written")
        }
        precondition(again == answer)
    } catch {
        checkWords(error.description)
    }
}

/// What the agent shows and keeps is within the bounds that Docs/providers.md states.
private func check(_ answer: ProviderAnswer) {
    guard case .signIn(let result) = answer else { return }
    switch result {
    case .success(let maintainIn, let session):
        precondition(maintainIn.map { ProviderLimits.seconds.contains($0) } ?? true)
        precondition((session?.count ?? 0) <= ProviderLimits.sessionLength)
    case .temporaryFailure(let retryAfter):
        precondition(retryAfter.map { ProviderLimits.seconds.contains($0) } ?? true)
    case .failure(let reason): precondition(reason.utf8.count <= ProviderLimits.titleLength)
    case .uiRequired(let dialogue): check(dialogue)
    }
}

private func check(_ dialogue: Dialogue) {
    precondition((1...ProviderLimits.titleLength).contains(dialogue.title.utf8.count))
    precondition(dialogue.message.utf8.count <= ProviderLimits.messageLength)
    precondition(dialogue.fields.count <= ProviderLimits.fields)
    precondition(Set(dialogue.fields.map(\.name)).count == dialogue.fields.count)
    for field in dialogue.fields {
        precondition(ProviderLimits.fieldNameLength.contains(field.name.utf8.count))
        precondition(field.label.utf8.count <= ProviderLimits.titleLength)
    }
    if let url = dialogue.url {
        let url = url.lowercased()
        precondition(url.hasPrefix("http://") || url.hasPrefix("https://"))
        precondition(url.utf8.count <= ProviderLimits.urlLength && url.utf8.allSatisfy { (0x21...0x7e).contains($0) })
    }
}

private func readAsHostLines(_ line: [UInt8]) {
    if let request = try? HostRequest(line: line) {
        precondition((try? HostRequest(line: request.line())) == request)
        if case .open(let provider) = request { precondition(ProviderLimits.isName(provider)) }
    }
    do throws(ProviderFault) {
        let list = try ProviderList(line: line)
        precondition(
            list.names.count <= ProviderLimits.providers && list.names.allSatisfy { ProviderLimits.isName($0) })
    } catch {
        checkWords(error.description)
    }
}

/// Whatever arrives, and in whatever pieces: the same comes of it, it ends once, and the agent asks only what it has
/// to.
private func converse(_ bytes: [UInt8]) {
    let whole = outcome(of: [bytes[...]])
    precondition(whole == outcome(of: pieces(of: bytes)), "a conversation depends on how it arrives")
    let ends = whole.count { if case .failed = $0 { true } else { false } }
    precondition(ends == 1)
    // The question comes after the introduction, and nothing after that.
    precondition(whole.count { if case .send = $0 { true } else { false } } <= 1)
}

private func outcome(of pieces: [ArraySlice<UInt8>]) -> [Conversation.Output] {
    var (conversation, _) = Conversation.opening("a", .answer([:]))
    var outputs = pieces.flatMap { conversation.receive($0) }
    outputs += conversation.end()
    return outputs
}

/// Printable and short: it ends up in logs and at people's.
private func checkWords(_ text: String) {
    precondition(text.utf8.count < 400 && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f })
}
