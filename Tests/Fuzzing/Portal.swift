import AgentModel
import AppProtocol
import Connectivity

@testable import Hotspots

extension FuzzTarget {
    /// Each address of the page is resolved beside it.
    static let portalPage = FuzzTarget(
        "portal-page", "the page of a captive portal, its addresses and its cookies", longest: 4096,
        seeds: { PortalSample.pages }
    ) { bytes in
        let html = bytes
        scan(html)
        let page = PortalPage(html: html)
        precondition(page.forms.count <= PortalPage.forms && page.links.count <= PortalPage.links)
        precondition(page.title.utf8.count <= TagScanner.textLength)
        for form in page.forms { check(form) }
        checkStep(of: page)
        for reference in [page.refresh].compactMap(\.self) + page.forms.map(\.action) + page.links.map(\.target) {
            resolve(reference)
        }
        keepCookies(html)
    }
}

/// Each token has moved on by a byte at least.
private func scan(_ html: [UInt8]) {
    var scanner = TagScanner(html)
    var count = 0
    while let token = scanner.next() {
        count += 1
        precondition(count <= html.count)
        // A byte that is no text becomes one of three.
        switch token {
        case .text(let text): precondition(text.utf8.count <= 3 * TagScanner.textLength)
        case .tag(let tag):
            precondition(tag.name.utf8.count <= 3 * TagScanner.nameLength)
            precondition(tag.attributes.count <= TagScanner.attributes)
            precondition(tag.attributes.allSatisfy { $0.value.utf8.count <= 3 * TagScanner.valueLength })
        }
    }
}

private func check(_ form: PortalPage.Form) {
    precondition(form.fields.count <= PortalPage.fields)
    let names = Set(form.fields.map(\.name))
    precondition(form.values().allSatisfy { names.contains($0.name) && !$0.name.isEmpty })
    guard form.needsPerson, !form.questions.isEmpty else { return }
    // The agent takes the question, whatever the page's names of fields.
    let answer = ProviderAnswer.signIn(.uiRequired(Dialogue(title: "t", message: "m", fields: form.questions)))
    precondition((try? ProviderAnswer(line: answer.line(to: "1"), to: "1", of: .authenticate)) == answer)
}

/// Nothing is sent by itself that wants more than to be agreed to.
private func checkStep(of page: PortalPage) {
    switch page.step {
    case .submit(let form): precondition(!form.needsPerson && !form.hasChoice && !form.isPriced)
    case .ask(let form): precondition(form.needsPerson && !form.hasChoice)
    case .follow(let target): precondition(page.links.contains { $0.target == target })
    case .show, .none: break
    }
}

/// An address reads the same once it is written, stays on the web, and leads out of no folder.
private func resolve(_ reference: String) {
    for base in ["http://portal.example/a/b?c#d", "https://[2001:db8::1]:8443/"] {
        guard let base = try? WebAddress(base) else { preconditionFailure("no address") }
        guard let address = try? base.resolving(reference) else { continue }
        precondition((try? WebAddress(address.description)) == address, "an address reads otherwise once it is written")
        precondition(address.target.hasPrefix("/") && address.description.utf8.count <= WebAddress.maximumLength)
        precondition((try? address.resolving("")) != nil)
    }
}

/// The lines of the page as what a portal sets: few are kept, and none goes to another host.
private func keepCookies(_ html: [UInt8]) {
    guard let address = try? WebAddress("https://portal.example/"),
        let other = try? WebAddress("https://other.example/")
    else { preconditionFailure("no address") }
    var jar = CookieJar()
    jar.keep(html.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }, from: address)
    precondition(jar.cookies(for: other) == nil)
    let cookies = jar.cookies(for: address) ?? ""
    precondition(cookies.utf8.count <= 16 * 514 && cookies.utf8.allSatisfy { (0x20...0x7e).contains($0) })
}

private enum PortalSample {
    static let pages = bytes([
        """
        <html><head><title>Caf&eacute;</title><meta http-equiv=refresh content="0;url=/next"></head><body>
        <form action=/accept method=post><input type=checkbox name=terms required>
        <input type=hidden name=t value="a&amp;b"><input type=submit name=go value=Continue></form>
        <a href="//a.example/x">News</a></body></html>
        """,
        """
        <form action='../b?c'><input name=mail placeholder='Your mail'><input type=password name=p>
        <button name=a>OK</button></form>
        """,
        "sid=1; Secure; HttpOnly\nlang=en; Path=/\n",
    ])
}

extension FuzzTarget {
    /// Every reader reads a line, whichever of them it is for; and the same bytes are a conversation.
    static let providerLines = FuzzTarget(
        "provider-lines", "a line of a hotspot provider, its host or the agent", longest: 4096,
        seeds: { TestFile.examples(in: "Docs/reference/providers.md") }
    ) { bytes in
        readAsRequest(bytes)
        for kind in ProviderRequest.Kind.allCases { readAsAnswer(bytes, of: kind) }
        readAsHostLines(bytes)
        converse(bytes)
    }
}

/// A request that can be read is written so that it reads the same.
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

/// The values that the agent shows and keeps are within the bounds that Docs/reference/providers.md states.
private func check(_ answer: ProviderAnswer) {
    if case .presents(let dialogue) = answer { check(dialogue) }
    guard case .signIn(let result) = answer else { return }
    switch result {
    case .success(let maintainIn, let session):
        precondition(maintainIn.map { ProviderLimits.seconds.contains($0) } ?? true)
        precondition((session?.count ?? 0) <= ProviderLimits.sessionLength)
    case .temporaryFailure(let retryAfter):
        precondition(retryAfter.map { ProviderLimits.seconds.contains($0) } ?? true)
    case .failure(let reason): precondition(reason.utf8.count <= ProviderLimits.titleLength)
    case .uiRequired(let dialogue): if let dialogue { check(dialogue) }
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

/// Any bytes, in any pieces: the result is the same, the conversation ends once, and the agent asks only what it has
/// to.
private func converse(_ bytes: [UInt8]) {
    let whole = outcome(of: [bytes[...]])
    precondition(whole == outcome(of: pieces(of: bytes)), "a connection depends on how it arrives")
    let ends = whole.count { if case .failed = $0 { true } else { false } }
    precondition(ends == 1)
    // The question comes after the introduction, and nothing after that.
    precondition(whole.count { if case .send = $0 { true } else { false } } <= 1)
}

private func outcome(of pieces: [ArraySlice<UInt8>]) -> [ProviderConnection.Effect] {
    var (connection, _) = ProviderConnection.opening("a", .answer([:]))
    var effects = pieces.flatMap { connection.receive($0) }
    effects += connection.end()
    return effects
}

/// Printable and short: it ends up in logs and at people's.
private func checkWords(_ text: String) {
    precondition(text.utf8.count < 400 && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f })
}
