import AgentModel
import AppProtocol
import AppServer

/// Renders pages from values only, without queries to the device.
struct PageWriter: Sendable {
    let visitor: Visitor
    let localized: Translation
    var names = LocalNames()
    /// Name of the device; nil without one, or for a visitor who has not signed in.
    var deviceName: String?
    /// Names of stored networks in forms.
    let networkNames: NetworkNames

    struct LocalNames: Sendable, Equatable {
        /// Host name like `kitchen.local`; nil for none.
        var host: String?
        /// Port of the page; nil if there is none in the network.
        var port: Int?
    }

    init(_ visitor: Visitor, names: LocalNames = LocalNames(), networkNames: NetworkNames = NetworkNames()) {
        (self.visitor, self.names, self.networkNames) = (visitor, names, networkNames)
        localized = Translation(visitor.language)
    }

    /// - Parameter now: time on the clock of the samples in `facts`.
    func response(to view: View, _ facts: Facts, at now: Instant) -> BrowserResponse {
        var writer = self
        writer.deviceName = facts.network?.deviceName?.text
        switch view {
        case .networks(let chosen, let notice): return writer.networks(chosen, notice, facts, at: now)
        case .attempt(let attempt): return writer.result(of: attempt, facts, at: now)
        case .signIn(let notice): return signIn(notice)
        case .status: return writer.status(facts, at: now)
        case .history: return writer.history(facts)
        case .diagnosis(let isRun): return writer.diagnosis(isRun, facts)
        case .error(let status, let phrase, let detail): return error(status, phrase, detail)
        }
    }

    // MARK: The frame

    /// - Parameters:
    ///   - heading: first heading with its markup; nil for `title`.
    ///   - path: path of this page, for the language links.
    ///   - refresh: whether a browser without JavaScript requests the path again after 3 s. Only for a page without a
    ///     form to fill in.
    func page(
        _ status: Int = 200, title: String, heading: [HTML]? = nil, path: String, refresh: Bool = false,
        _ content: [HTML]
    ) -> BrowserResponse {
        let product = deviceName ?? localized(.title)
        var head: [HTML] = [
            .tag("meta", [.init("charset", "utf-8")]),
            .tag("meta", [.name("viewport"), .init("content", "width=device-width, initial-scale=1")]),
            .tag("title", text: "\(title) – \(product)"),
            .tag("link", [.init("rel", "stylesheet"), .href("/style.css")]),
            .tag("link", [.init("rel", "icon"), .href("data:,")]),
            .tag("script", [.init("src", "/page.js"), .init("defer", nil)]),
        ]
        if visitor.isSignedIn {
            head.append(.tag("link", [.init("rel", "stylesheet"), .href("/network.css")]))
            head.append(.tag("script", [.init("src", "/network.js"), .init("defer", nil)]))
        }
        if refresh {
            let meta = HTML.tag("meta", [.init("http-equiv", "refresh"), .init("content", "3;url=\(path)")])
            head.append(.tag("noscript", [], [meta]))
        }
        let body: [HTML] = [
            .tag("a", [.class("skip"), .href("#main")], text: localized(.skip)),
            .tag("header", [], [.tag("p", [.class("product")], [.tag("bdi", text: product)])] + menu(path)),
            .tag(
                "main", [.id("main"), .init("tabindex", "-1")], [.tag("h1", [], heading ?? [.text(title)])] + content),
            .tag("footer", [], [languageLinks(path)]),
        ]
        let document = HTML.tag(
            "html", [.init("lang", localized.language.code), .init("dir", localized(.direction))],
            [.tag("head", [], head), .tag("body", [], body)])
        return BrowserResponse(status, headers, body: document.document())
    }

    /// Returns an element that the script replaces by that of a newer page at `path`, unless the user has filled in a
    /// form in it.
    /// - Parameter path: path of the newer page; nil for an element that no longer changes.
    func live(_ path: String?, id: String = "live", _ content: [HTML]) -> HTML {
        .tag("div", [.id(id)] + (path.map { [.init("data-live", $0)] } ?? []), content)
    }

    /// Returns a time in UTC. The script replaces it by the age, and shows the time in the browser's zone on request.
    func time(_ time: Timestamp) -> HTML {
        let text = "\(time)"
        return .tag("time", [.init("datetime", text)], text: "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) UTC")
    }

    private var headers: [(name: String, value: String)] {
        var headers = [
            ("Content-Type", "text/html; charset=utf-8"), ("Content-Language", localized.language.code),
            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
            // With no-referrer, browsers would send "null" as the origin of the device's own forms.
            ("Referrer-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
            (
                "Content-Security-Policy",
                "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
                    + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
            ),
        ]
        // Renews the cookie with every page, so that a language chosen by link persists.
        let secure = visitor.place == .network ? "; Secure" : ""
        headers.append(
            (
                "Set-Cookie",
                "\(Site.languageCookie)=\(localized.language.code); Path=/; Max-Age=31536000; SameSite=Strict\(secure)"
            ))
        return headers
    }

    private func menu(_ path: String) -> [HTML] {
        guard visitor.isSignedIn else { return [] }
        let entries: [(String, Phrase)] = [
            ("/status", .status), ("/networks", .networks), ("/history", .history), ("/diagnosis", .diagnosis),
        ]
        let links = entries.map { target, phrase in
            HTML.tag(
                "li", [],
                [
                    .tag(
                        "a", [.href(target)] + (target == path ? [.init("aria-current", "page")] : []),
                        text: localized(phrase))
                ])
        }
        let signOut = form("/sign-out", [.tag("button", [.class("link")], text: localized(.signOut))])
        return [.tag("nav", [.init("aria-label", localized(.menu))], [.tag("ul", [], links), signOut])]
    }

    private func languageLinks(_ path: String) -> HTML {
        let links = Language.all.filter { $0 != localized.language }.map { language in
            HTML.tag(
                "a",
                [
                    .href("\(path)?lang=\(language.code)"), .init("lang", language.code),
                    .init("hreflang", language.code),
                ], text: Translation(language)(.languageName))
        }
        return .tag("nav", [.init("aria-label", localized(.languages))], links)
    }

    func form(_ path: String, attributes: [HTML.Attribute] = [], _ content: [HTML]) -> HTML {
        let token = HTML.tag("input", [.type("hidden"), .name("token"), .value(visitor.token)])
        return .tag("form", [.init("method", "post"), .init("action", path)] + attributes, [token] + content)
    }

    /// - Parameter title: a sentence.
    func alert(_ title: [HTML], _ texts: [[HTML]] = []) -> HTML {
        .tag(
            "div", [.class("alert"), .id("alert"), .init("role", "alert")],
            [.tag("p", [], [.tag("strong", [], title)])] + texts.map { .tag("p", [], $0) })
    }

    func alert(_ phrase: Phrase) -> HTML { alert([.text(localized(phrase))]) }

    func button(_ phrase: Phrase, to path: String) -> HTML {
        .tag("p", [], [.tag("a", [.class("button"), .href(path)], text: localized(phrase))])
    }

    /// Returns a part that the user can open.
    func details(_ summary: String, _ content: [HTML], isOpen: Bool = false) -> HTML {
        .tag(
            "details", isOpen ? [.init("open", nil)] : [], [.tag("summary", text: summary)] + content)
    }

    func error(_ status: Int, _ phrase: Phrase, _ detail: String?) -> BrowserResponse {
        var content = [alert(phrase)]
        // The device's text is English.
        if let detail {
            content.append(details(localized(.details), [.tag("p", [.init("lang", "en")], text: detail.printable)]))
        }
        content.append(button(.back, to: "/"))
        return page(status, title: localized(.errorTitle), path: "/", content)
    }

    // MARK: Signing in

    func signIn(_ notice: SignInNotice?, keyResult: BrowserResponse.KeyResult = .none) -> BrowserResponse {
        var content: [HTML] = []
        switch notice {
        case .wrong: content.append(alert(.signInWrong))
        case .invitation: content.append(alert(.signInInvitation))
        case .ended: content.append(alert(.signInEnded))
        case nil: break
        }
        content += [
            .tag("p", [.id("help")], text: localized(.signInHelp)),
            form(
                "/sign-in",
                [
                    .tag("label", [.init("for", "key")], text: localized(.keyOrCode)),
                    .tag(
                        "input",
                        [
                            .id("key"), .name("key"), .type("password"), .init("required", nil),
                            .init("autocomplete", "current-password"), .init("aria-describedby", "help"),
                            .init("maxlength", "1024"),
                        ]),
                    .tag("button", text: localized(.signIn)),
                ]),
        ]
        var response = page(notice == .wrong ? 403 : 200, title: localized(.signIn), path: "/", content)
        response.keyResult = keyResult
        return response
    }
}

/// Styles and scripts: `style.css` and `page.js` of every page, the others of the pages in the network.
enum Assets {
    static func response(to path: String) -> BrowserResponse? {
        switch path {
        case "/style.css": asset("text/css; charset=utf-8", PackageResources.style_css)
        case "/page.js": asset("text/javascript; charset=utf-8", PackageResources.page_js)
        case "/network.css": asset("text/css; charset=utf-8", PackageResources.network_css)
        case "/network.js": asset("text/javascript; charset=utf-8", PackageResources.network_js)
        default: nil
        }
    }

    private static func asset(_ type: String, _ content: [UInt8]) -> BrowserResponse {
        BrowserResponse(
            200,
            [("Content-Type", type), ("Cache-Control", "max-age=600"), ("X-Content-Type-Options", "nosniff")],
            body: content)
    }
}
