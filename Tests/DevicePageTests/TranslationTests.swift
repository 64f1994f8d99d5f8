import Testing

@testable import DevicePage

@Suite struct TranslationTests {
    @Test(arguments: Language.allCases) func everyLanguageHasEveryPhraseAndNoOther(language: Language) {
        let keys = Translation.entries(of: Translation.file(of: language)).map(\.key)
        #expect(Set(keys).count == keys.count)
        #expect(Set(keys) == Set(Phrase.allCases.map(\.rawValue)))
    }

    @Test func everyPhraseHasTheSamePlacesInEveryLanguage() {
        func places(_ language: Language) -> [String: [Bool]] {
            Translation.entries(of: Translation.file(of: language)).reduce(into: [:]) { places, entry in
                places[entry.key] = (1...4).map { entry.text.contains("{\($0)}") }
            }
        }
        for language in Language.allCases { #expect(places(language) == places(.en), "\(language)") }
    }

    @Test func valuesAreNotTakenForPlaces() {
        #expect(Translation(.en)(.successAddress, "{1}{2}").contains(" {1}{2} "))
        #expect(Translation(.de)(.signalSummary, "5", "-70", "-50", "{1}").contains("Jetzt: {1} dBm."))
    }

    @Test(arguments: [
        (nil, Language.en), ("", .en), ("de", .de), ("de-AT,de;q=0.9,en;q=0.8", .de), ("fr, de;q=0.5, en;q=0.4", .de),
        ("en-US,en;q=0.9,de;q=0.8", .en), ("de;q=0, en;q=0.1", .en), ("*", .en), ("de;q=nan,en;q=0.5", .en),
        (";;,,q", .en),
    ])
    func theBrowsersLanguageIsTaken(header: String?, language: Language) {
        #expect(Language(accepting: header) == language)
    }
}
