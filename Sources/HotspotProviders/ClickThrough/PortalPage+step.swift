import AppProtocol

extension PortalPage {
    /// What to do on this page to get further.
    enum Step: Sendable, Equatable {
        /// Send the form as it is, with its checkboxes ticked.
        case submit(Form)
        case follow(String)
        /// Somebody has to fill in the form.
        case ask(Form)
        /// There is nothing on it that is understood.
        case none
    }

    /// Words by which those who make such pages call the way on, in small letters.
    private static let words = [
        "nodogsplash_auth", "opennds_auth", "accept", "agree", "connect", "continue", "proceed", "akzeptier",
        "verbinden",
        "weiter", "einverstanden", "aceptar", "conectar", "accepter", "connexion", "continuer", "accetto",
        "click_through",
        "clickthrough", "free", "login", "start",
    ]

    var step: Step {
        // A page on which one can only agree has one form, or the one that says so among others, such as a search.
        let open = forms.filter { !$0.needsPerson && !$0.isIdle }
        if let form = open.first(where: \.looksLikeConsent) ?? open.first { return .submit(form) }
        // A form for a password comes before a link, which may lead anywhere.
        if let form = forms.first(where: { form in form.fields.contains { $0.kind == .password } }) {
            return .ask(form)
        }
        let link = links.first { link in
            !link.target.hasPrefix("#") && !link.target.lowercased().hasPrefix("javascript:")
                && !link.target.lowercased().hasPrefix("mailto:")
                && Self.words.contains { (link.target + " " + link.text).lowercased().contains($0) }
        }
        if let link { return .follow(link.target) }
        return forms.first(where: \.needsPerson).map { .ask($0) } ?? .none
    }

    fileprivate static func isConsent(_ text: String) -> Bool {
        let text = text.lowercased()
        return words.contains { text.contains($0) }
    }
}

extension PortalPage.Form {
    /// Nothing to send and nobody to press.
    fileprivate var isIdle: Bool { fields.isEmpty }

    fileprivate var looksLikeConsent: Bool {
        PortalPage.isConsent(action) || fields.contains { $0.kind == .checkbox }
            || fields.contains { PortalPage.isConsent($0.name + " " + $0.value) }
    }

    /// What the person is asked for.
    var questions: [PortalRequest.Field] {
        var names: Set<String> = []
        return fields.compactMap { field in
            guard field.kind == .text || field.kind == .password,
                ProviderLimits.fieldNameLength.contains(field.name.utf8.count), names.insert(field.name).inserted,
                names.count <= ProviderLimits.fields
            else { return nil }
            return PortalRequest.Field(
                name: field.name, label: field.label.shortened, kind: field.kind == .password ? .password : .text,
                isRequired: field.isRequired)
        }
    }

    /// What is sent when its first button is pressed: all that is hidden, every checkbox, one of each group of choices,
    /// and what the person filled in.
    func values(_ filledIn: [String: String] = [:]) -> [(name: String, value: String)] {
        var choices: Set<String> = []
        var isPressed = false
        return fields.compactMap { field in
            guard !field.name.isEmpty else { return nil }
            switch field.kind {
            case .hidden, .checkbox: return (field.name, field.value)
            case .radio: return choices.insert(field.name).inserted ? (field.name, chosen(field)) : nil
            case .submit:
                defer { isPressed = true }
                return isPressed ? nil : (field.name, field.value)
            case .text, .password: return (field.name, filledIn[field.name] ?? field.value)
            }
        }
    }

    private func chosen(_ first: PortalPage.Field) -> String {
        let group = fields.filter { $0.kind == .radio && $0.name == first.name }
        return (group.first(where: \.isChecked) ?? first).value
    }
}
