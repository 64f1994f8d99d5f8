/// What of a page matters for signing in: its forms, its links, and where it sends the browser.
struct PortalPage: Sendable, Equatable {
    struct Form: Sendable, Equatable {
        var action = ""
        var isPost = false
        var fields: [Field] = []

        /// Whether somebody has to type something.
        var needsPerson: Bool { fields.contains { $0.kind == .text || $0.kind == .password } }
    }

    struct Field: Sendable, Equatable {
        enum Kind: Sendable, Equatable {
            case hidden, checkbox, radio, submit, text, password
        }

        var kind: Kind
        var name: String
        var value: String
        var label = ""
        var isRequired = false
        var isChecked = false
    }

    struct Link: Sendable, Equatable {
        var target: String
        var text: String
    }

    /// Of a page, what is more is left out.
    static let forms = 16
    static let fields = 64
    static let links = 128

    private(set) var title = ""
    private(set) var forms: [Form] = []
    private(set) var links: [Link] = []
    /// `<meta http-equiv="refresh">`: the page that follows by itself.
    private(set) var refresh: String?

    init(html: [UInt8]) {
        var scanner = TagScanner(html)
        var form: Form?
        var link: Link?
        var isTitle = false
        while let token = scanner.next() {
            switch token {
            case .text(let text):
                if isTitle, title.utf8.count + text.utf8.count <= TagScanner.textLength { title += text }
                if let known = link?.text.utf8.count, known + text.utf8.count <= TagScanner.textLength {
                    link?.text += text
                }
            case .tag(let tag):
                switch (tag.name, tag.isClosing) {
                case ("title", let isClosing): isTitle = !isClosing
                case ("form", false):
                    keep(form)
                    form = Form(action: tag["action"] ?? "", isPost: tag["method"]?.lowercased() == "post")
                case ("form", true):
                    keep(form)
                    form = nil
                case ("a", false): link = tag["href"].map { Link(target: $0, text: "") }
                case ("a", true):
                    if let link, links.count < Self.links { links.append(link) }
                    link = nil
                case ("meta", false) where tag["http-equiv"]?.lowercased() == "refresh":
                    refresh = refresh ?? tag["content"].flatMap(Self.refreshTarget)
                default:
                    if !tag.isClosing, let field = Field(tag), (form?.fields.count ?? Self.fields) < Self.fields {
                        form?.fields.append(field)
                    }
                }
            }
        }
        keep(form)
    }

    private mutating func keep(_ form: Form?) {
        if let form, forms.count < Self.forms { forms.append(form) }
    }

    /// What stands behind `url=` in `0; url=/next`.
    private static func refreshTarget(_ content: String) -> String? {
        guard let separator = content.firstIndex(of: ";") else { return nil }
        let rest = content[content.index(after: separator)...].drop { $0 == " " }
        guard rest.prefix(4).lowercased() == "url=" else { return nil }
        let target = rest.dropFirst(4).filter { $0 != "'" && $0 != "\"" && $0 != " " }
        return target.isEmpty ? nil : target
    }
}

extension PortalPage.Field {
    /// - Returns: nil for what sends nothing.
    fileprivate init?(_ tag: TagScanner.Tag) {
        let kind: Kind
        switch (tag.name, tag["type"]?.lowercased() ?? "") {
        case ("button", "button"), ("button", "reset"), ("input", "button"), ("input", "reset"), ("input", "file"):
            return nil
        case ("button", _), ("input", "submit"), ("input", "image"): kind = .submit
        case ("input", "hidden"): kind = .hidden
        case ("input", "checkbox"): kind = .checkbox
        case ("input", "radio"): kind = .radio
        case ("input", "password"): kind = .password
        case ("input", _), ("textarea", _): kind = .text
        default: return nil
        }
        let name = tag["name"] ?? ""
        self.init(
            kind: kind, name: name, value: tag["value"] ?? (kind == .checkbox ? "on" : ""),
            label: tag["placeholder"] ?? tag["aria-label"] ?? tag["title"] ?? name,
            isRequired: tag["required"] != nil, isChecked: tag["checked"] != nil)
    }
}
