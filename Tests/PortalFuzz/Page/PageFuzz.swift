import AgentModel
import AppProtocol
import FuzzDriver
import OnlineValidation

@testable import HotspotProviders

@_cdecl("portal_page_fuzz_main")
public func start(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    FuzzDriver.fuzz(count, arguments, with: fuzz)
}

/// What libFuzzer calls with each of its inputs: a portal's page, each of whose addresses is looked up beside it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let html = Array(UnsafeBufferPointer(start: start, count: count))
    scan(html)
    let page = PortalPage(html: html)
    precondition(page.forms.count <= PortalPage.forms && page.links.count <= PortalPage.links)
    precondition(page.title.utf8.count <= TagScanner.textLength)
    for form in page.forms { check(form) }
    checkStep(of: page)
    for reference in [page.refresh].compactMap(\.self) + page.forms.map(\.action) + page.links.map(\.target) {
        resolve(reference)
    }
    return 0
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
    // Whatever the page calls its fields, the agent takes the question.
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
