import AppProtocol

extension PortalPage {
    /// What to do on this page to get further.
    enum Step: Sendable, Equatable {
        /// Send the form as it is, with what has to be agreed to ticked: it asks for nothing else.
        case submit(Form)
        case follow(String)
        /// Somebody has to fill in the form.
        case ask(Form)
        /// Somebody has to see the page: it wants a choice, or costs something.
        case show
        /// There is nothing on it that is understood.
        case none
    }

    var step: Step {
        if let form = forms.first(where: \.isConsent) { return .submit(form) }
        // A form for a password comes before a link, which may lead anywhere.
        if let form = forms.first(where: { form in form.fields.contains { $0.kind == .password } }) {
            return form.hasChoice ? .show : .ask(form)
        }
        if let link = links.first(where: \.leadsOn) { return .follow(link.target) }
        if let form = forms.first(where: \.needsPerson) { return form.hasChoice ? .show : .ask(form) }
        return forms.contains { $0.hasChoice || $0.isPriced } ? .show : .none
    }
}

extension PortalPage.Link {
    fileprivate var leadsOn: Bool {
        let target = target.lowercased()
        return !target.hasPrefix("#") && !target.hasPrefix("javascript:") && !target.hasPrefix("mailto:")
            && ConsentWords.areOnward(self.target + " " + text) && !ConsentWords.areOther(self.target + " " + text)
    }
}

extension PortalPage.Form {
    /// Whether it is there to agree to something, and for nothing else.
    fileprivate var isConsent: Bool {
        guard !needsPerson, !hasChoice, !isPriced else { return false }
        let said = action + " " + (pressed.map { fields[$0].words } ?? "")
        guard !ConsentWords.areOther(said) else { return false }
        return ConsentWords.areOnwardOnButton(said) || fields.contains { $0.kind == .checkbox && ticks($0) }
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

    /// What is sent when its button is pressed: all that is hidden, the boxes that have to be ticked, the choices as
    /// they are, and what the person filled in.
    func values(_ filledIn: [String: String] = [:]) -> [(name: String, value: String)] {
        let pressed = pressed
        return fields.enumerated().compactMap { index, field in
            guard !field.name.isEmpty else { return nil }
            switch field.kind {
            case .hidden: return (field.name, field.value)
            case .checkbox: return ticks(field) ? (field.name, field.value) : nil
            case .radio: return field.isChecked || !hasChoice ? (field.name, field.value) : nil
            case .submit: return index == pressed ? (field.name, field.value) : nil
            case .text, .password: return (field.name, filledIn[field.name] ?? field.value)
            }
        }
    }

    /// The button that leads on; the first one, where none says so.
    private var pressed: Int? {
        let buttons = fields.indices.filter { fields[$0].kind == .submit }
        return buttons.first { button in
            let words = fields[button].words
            return ConsentWords.areOnwardOnButton(words) && !ConsentWords.areOther(words)
        } ?? buttons.first
    }

    /// A box that has to be ticked, or names what is agreed to; or the only one, where nothing is said of it.
    private func ticks(_ box: PortalPage.Field) -> Bool {
        guard !box.isRequired else { return true }
        guard !ConsentWords.areOther(box.words) else { return false }
        return ConsentWords.areTerms(box.words)
            || (box.label == box.name && fields.count { $0.kind == .checkbox } == 1)
    }
}

extension PortalPage.Field {
    fileprivate var words: String { name + " " + value + " " + label }
}
