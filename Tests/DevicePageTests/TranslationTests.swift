import AgentModel
import AppProtocol
import Testing

@testable import DevicePage

@Suite struct TranslationTests {
    @Test(arguments: Language.all) func everyLanguageHasEveryTextAndNoOther(language: Language) {
        let keys = Language.entries(of: PackageResources.en_txt).map(\.key)
        #expect(Set(keys).count == keys.count && Set(language.keys) == Set(keys))
        #expect(keys.filter { !$0.contains(".") }.sorted() == Phrase.allCases.map(\.rawValue).sorted())
        for key in keys { #expect(language.forms(of: key)?.contains("") == false, "\(key)") }
        #expect(Language.all.filter { $0 == language }.count == 1)
        #expect(["ltr", "rtl"].contains(Translation(language)(.direction)))
    }

    @Test(arguments: Language.all) func everyCodeHasItsTexts(language: Language) {
        let localized = Translation(language)
        let known: [Phrase.Family: [String]] = [
            .why: JoinFailure.allCases.map(\.rawValue) + ["unknown"],
            .do: JoinFailure.allCases.map(\.rawValue) + ["unknown"],
            // The kinds of Docs/reference/protocol.md.
            .did: [
                "join", "online", "lost", "failed", "blocked", "search", "stay", "unusable", "usable", "standby",
                "recovery", "command", "password", "rescue", "floor", "uplink", "switch", "closed",
            ],
            .layer: Diagnosis.Layer.allCases.map(\.rawValue), .fix: Diagnosis.Layer.allCases.map(\.rawValue),
        ]
        for (family, codes) in known {
            for code in codes { #expect(localized(family, code) != nil, "\(family).\(code)") }
        }
    }

    /// A plural text has all forms of its language, and each form has the places of the English text.
    @Test(arguments: Language.all) func everyTextHasItsPlacesAndForms(language: Language) {
        func places(_ text: String) -> [Bool] { (1...4).map { text.contains("{\($0)}") } }
        for (key, english) in Language.entries(of: PackageResources.en_txt) {
            let forms = language.forms(of: key) ?? []
            #expect(forms.count == (english.count == 1 ? 1 : Plural.forms(in: language.code)), "\(key)")
            // A form for one or two things may do without the number.
            #expect(forms.last.map(places) == english.last.map(places), "\(key)")
        }
    }

    @Test func aNumberAndItsSignStayOnOneLine() {
        for language in Language.all {
            for phrase in [Phrase.signal, .signalNow, .elapsed] {
                #expect(Translation(language)(phrase, "7").contains("7\u{a0}"), "\(phrase)")
            }
        }
    }

    @Test func valuesAreNotTakenForPlaces() {
        #expect(Translation(.en)(.signalRange, "{2}", "{1}").contains(" {2} and {1}"))
        let heading = HTML.tag("p", [], Translation(.en).html(.trying, "<b>{1}")).document()
        #expect(String(decoding: heading, as: UTF8.self).contains("<bdi>&lt;b&gt;{1}</bdi>"))
    }

    @Test(arguments: [
        ("en", 2, [1, 0, 1, 1, 1]), ("de", 2, [1, 0, 1, 1, 1]), ("fr", 2, [0, 0, 1, 1, 1]), ("pt", 2, [0, 0, 1, 1, 1]),
        ("es", 2, [1, 0, 1, 1, 1]), ("it", 2, [1, 0, 1, 1, 1]), ("tr", 2, [1, 0, 1, 1, 1]), ("pl", 3, [2, 0, 1, 2, 2]),
        ("ar", 6, [0, 1, 2, 3, 4]),
    ])
    func aNumberHasTheFormOfTheLanguage(language: String, forms: Int, expected: [Int]) {
        #expect(Plural.forms(in: language) == forms)
        #expect([0, 1, 2, 5, 12].map { Plural.form(of: $0, in: language) } == expected)
    }

    @Test(arguments: [("pl", 22, 1), ("pl", 112, 2), ("pl", 21, 2), ("ar", 100, 5), ("ar", 103, 3), ("ar", 111, 4)])
    func formsRepeatWithTheLastDigits(language: String, number: Int, form: Int) {
        #expect(Plural.form(of: number, in: language) == form)
    }

    @Test(arguments: [
        (nil, Language.en), ("", .en), ("de", .de), ("de-AT,de;q=0.9,en;q=0.8", .de), ("xx, de;q=0.5, en;q=0.4", .de),
        ("en-US,en;q=0.9,de;q=0.8", .en), ("de;q=0, en;q=0.1", .en), ("*", .en), ("de;q=nan,en;q=0.5", .en),
        (";;,,q", .en), ("pt-BR,pt;q=0.9,en;q=0.8", .pt), ("es-419", .es), ("ar-EG,ar;q=0.9", .ar),
    ])
    func theBrowsersLanguageIsTaken(header: String?, language: Language) {
        #expect(Language(accepting: header) == language)
    }
}
