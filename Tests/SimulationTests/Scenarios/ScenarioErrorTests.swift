import Simulation
import Testing

/// Every fault in a file is told with its line, the expected text and the given one.
@Suite struct ScenarioErrorTests {
    /// Lines 1 to 5 of every file here; what a case adds begins with line 6.
    private static let head = """
        title Test
        about It tests.
        duration 4h
        network Home password made-up-word preferred
        ap home Home channel 6 signal -50

        """

    struct Case: CustomTestStringConvertible {
        let text: String
        let line: Int?
        /// Parts of what the error says is there and should be: the words of the file, values and examples.
        let found: String
        let expected: [String]
        var testDescription: String { text }

        init(_ text: String, line: Int? = 6, found: String, expected: String...) {
            (self.text, self.line) = (text, line)
            (self.found, self.expected) = (found, expected)
        }

        func fits(_ error: ScenarioError?) -> Bool {
            guard let error else { return false }
            return error.file == "house.scenario" && error.line == line && error.found.contains(found)
                && expected.allSatisfy { error.expected.contains($0) }
        }
    }

    static let happenings: [Case] = [
        Case("at 1h home signal abc", found: #""abc""#, expected: "-60"),
        Case("at 1h home signal 60", found: #""60""#, expected: "-60"),
        Case("at 1h home signal", found: "end", expected: "-60"),
        Case("at 1h home signal -60 over 5", found: #""5""#, expected: "90s", "1h30m"),
        Case("at 1h home signal -60 slowly", found: #""slowly""#, expected: "end"),
        Case("at 1h home off off", found: #""off""#, expected: "end"),
        Case("at 4h home off", found: #""4h""#, expected: "4h"),
        Case("at 60 home off", found: #""60""#, expected: "4h"),
        Case("at", found: "end", expected: "4h"),
        Case("at 3h59m suspend for 2m", found: "4h1m", expected: "4h"),
        Case("every 1h from 1h home signal -70 over 1h30m", found: "4h30m", expected: "4h"),
        Case("every 0s from 1h home off", found: #""0s""#, expected: "1ms", "10m"),
        Case("every 10m home off", found: #""home""#, expected: #""from""#),
        Case("every 10m from 1h until 1h home off", found: #""1h""#, expected: "1h", "4h"),
        Case("every 10m from 1h until 5h home off", found: #""5h""#, expected: "1h", "4h"),
        Case("every 1ms from 1h home off", found: "more", expected: "10000"),
        Case(
            "at 1h attic off", found: #""attic""#,
            expected: #""device""#, #""told""#, #""interference""#, #""command""#, #""uplink""#, #""suspend""#,
            #""supplicant""#, #""agent""#),
        Case("at 1h told Attic open", found: #""Attic""#, expected: "Home"),
        Case("at 1h command Attic", found: #""Attic""#, expected: "Home"),
        Case("at 1h told Home password short", found: #""short""#, expected: "8", "63"),
        Case("at 1h told Home", found: "end", expected: #""password""#, #""open""#),
        Case("at 1h uplink wifi", found: #""wifi""#, expected: #""wired""#, #""cellular""#, #""other""#, #""none""#),
        Case("at 1h device moves to 20", found: #""20""#, expected: "20,-5.5"),
        Case("at 1h device moves to 20,99999", found: #""20,99999""#, expected: "20,-5.5"),
        Case("at 1h interference 2483-2400 loss 30% for 90s", found: #""2483-2400""#, expected: "2400-2483"),
        Case("at 1h interference 2400-2483 loss 0.3 for 90s", found: #""0.3""#, expected: "0%", "100%"),
        Case("at 1h interference 2400-2483 loss 130% for 90s", found: #""130%""#, expected: "0%", "100%"),
        Case("at 1h home internet gone", found: #""gone""#, expected: #""online""#, #""captive""#, #""dead""#),
        Case("at 1h home address soon", found: #""soon""#, expected: "300ms", #""none""#),
        Case("at 1h home not empty", found: #""empty""#, expected: #""full""#),
        Case("at 1h supplicant dies", found: "end", expected: #""back""#),
        Case("device at 1,1", found: #""device""#, expected: #""device""#, #""ap""#),
        Case("network Attic open", found: #""network""#, expected: #""network""#, #""ap""#),
        Case(
            "teleport home", found: #""teleport""#,
            expected: #""title""#, #""about""#, #""duration""#, #""device""#, #""radio""#, #""set""#,
            #""network""#, #""ap""#, #""crowd""#, #""at""#, #""every""#),
        Case("  indented", found: "indented", expected: #""about""#),
        Case("at 1h told \"Home", found: "\"\"Home\"", expected: "closing"),
        Case("at 1h told \"Home\"password", found: "\"\"Home\"password\"", expected: "space"),
        Case(#"at 1h told "Ho\me" open"#, found: "\"\"Ho\\me\" open\"", expected: #"\\"#, #"\""#, #"\x"#),
        Case(#"at 1h told "\x4" open"#, found: "\"\"\\x4\" open\"", expected: #"\\"#, #"\""#, #"\x"#),
        Case(#"at 1h told Ho\x6de open"#, found: #""Ho\x6de""#, expected: "backslash"),
        Case("at 1h home o\u{200b}ff", found: "U+200B", expected: "visible"),
        Case("at 1h home \u{1b}[2J", found: "U+1B", expected: "visible"),
    ]

    static let accessPoints: [Case] = [
        Case("ap home Home channel 6 signal -50", found: #""home""#, expected: "name"),
        Case("ap two Home", found: "end", expected: #""channel""#),
        Case("ap two Home channel 15 signal -50", found: #""15""#, expected: "2.4", "5", "6", "36"),
        Case("ap two Home channel 6", found: "end", expected: #""signal""#, #""at""#),
        Case("ap two Home channel 6 at 1,1 power -30", found: "end", expected: #""exponent""#),
        Case("ap two Home channel 6 at 1,1 power -30 exponent 0.5", found: #""0.5""#, expected: "1", "8", "3.2"),
        Case(
            "ap two Home channel 6 signal -50 fading 2 fading 3", found: #""fading""#,
            expected: #""password""#, #""open""#, #""shadowing""#, #""internet""#, #""address""#, #""full""#,
            #""off""#),
        Case(
            "ap two Home channel 6 signal -50 open password other-word", found: #""password""#,
            expected: #""shadowing""#, #""fading""#, #""internet""#, #""address""#, #""full""#, #""off""#),
        Case("ap two Home channel 6 signal -50 shadowing 3", found: "end", expected: #""over""#),
        Case("ap two Home channel 6 signal -50 fading 3dBi", found: #""3dBi""#, expected: "0", "60", "3.5"),
        Case("ap two Other channel 6 signal -50", found: "end", expected: #""password""#, #""open""#),
        Case(#"ap two "" channel 6 signal -50 open"#, found: "\"\"\"\"", expected: "1", "32"),
        Case(
            "ap two 123456789012345678901234567890123 channel 6 signal -50 open",
            found: #""123456789012345678901234567890123""#,
            expected: "1", "32"),
        Case("crowd flat 501 channels 1 signal -90 to -60 open", found: #""501""#, expected: "1", "500"),
        Case("crowd flat 500 channels 1 signal -90 to -60 open", found: "flat500", expected: "500"),
        Case("crowd flat 9 channels 1 signal -60 to -90 open", found: #""-90""#, expected: "weaker", "-60"),
        Case(
            "crowd flat 9 channels 1, signal -90 to -60 open", found: #""1,""#,
            expected: "2.4", "5", "6", "36", "1,6,11"),
        Case(
            "crowd abcdefghijklmnopqrstuvwxyz123456 9 channels 1 signal -90 to -60 open",
            found: #""abcdefghijklmnopqrstuvwxyz1234561""#,
            expected: "shorter"),
    ]

    static let files: [Case] = [
        Case("title\n", line: 1, found: "end", expected: "words"),
        Case("title A\ntitle B\n", line: 2, found: #""title""#, expected: #""title""#),
        Case("duration 0s\n", line: 1, found: #""0s""#, expected: "1s", "366d", "4h"),
        Case("duration 400d\n", line: 1, found: #""400d""#, expected: "1s", "366d", "4h"),
        Case("title A\nnetwork Home open\n", line: 2, found: #""network""#, expected: #""duration""#),
        Case("radio channels 0\n", line: 1, found: #""0""#, expected: "1", "200"),
        Case("radio dwell 2s\n", line: 1, found: #""2s""#, expected: "1ms", "1s", "80ms"),
        Case(
            "radio no-6GHz\n", line: 1, found: #""no-6GHz""#,
            expected: #""channels""#, #""dwell""#, #""stations""#, #""no-5GHz""#),
        Case("radio stations 3\n", line: 1, found: #""3""#, expected: "1", "2"),
        Case("device at 0,0 signs-in 2m\n", line: 1, found: #""2m""#, expected: "1ms", "60s", "4s"),
        Case("device at 0,0 idle\n", line: 1, found: #""idle""#, expected: #""busy""#, #""signs-in""#),
        Case("set courage 5\n", line: 1, found: #""courage""#, expected: #""margin""#),
        Case("set margin 5\nset margin 6\n", line: 2, found: #""margin""#, expected: "setting"),
        Case("set margin 5m\n", line: 1, found: #""5m""#, expected: "0", "60"),
        Case("set switchLimit -1\n", line: 1, found: #""-1""#, expected: "0", "1000"),
        Case("set look 10s\n", line: 1, found: #""look""#, expected: #""margin""#),
        Case("set scanInterval.known.first 10\n", line: 1, found: #""10""#, expected: "30s", "1h30m"),
        Case("set scanInterval.known.first\n", line: 1, found: "end", expected: "30s", "1h30m"),
        Case("set scanInterval.known.first 10s up to 20s\n", line: 1, found: #""up""#, expected: "end"),
        Case("set five.weak 70\n", line: 1, found: #""70""#, expected: "-70"),
        Case("set validation maybe\n", line: 1, found: #""maybe""#, expected: "on", "off"),
        Case("set validation \"on\"\n", line: 1, found: "\"\"on\"\"", expected: "on", "off"),
        Case("set validation.limit 0s\n", line: 1, found: #""0s""#, expected: "1ms", "30s"),
        Case("duration 1h\nnetwork A open\nnetwork A open\n", line: 3, found: #""A""#, expected: "network"),
        Case(
            "duration 1h\nnetwork A open preferred\nnetwork B open preferred\n", line: 3, found: #""preferred""#,
            expected: "preferred"),
        Case(
            "duration 1h\nradio no-5GHz\nnetwork A open\nap a A channel 36 signal -50\n", line: 4, found: #""36""#,
            expected: "2.4"),
        Case(
            "duration 1h\nnetwork A open\nap a A channel 6 at 0,0 power -30 exponent 3\nat 1m a signal -60\n", line: 4,
            found: #""signal""#,
            expected: #""signal""#),
        Case("", line: nil, found: "none", expected: #""title""#),
        Case("title A\nabout B\nduration 1h\n", line: nil, found: "none", expected: #""network""#),
    ]

    @Test(arguments: happenings + accessPoints)
    func aLine(_ wrong: Case) {
        let error = Self.error(Self.head + wrong.text + "\n")
        #expect(wrong.fits(error), "\(String(describing: error))")
    }

    /// In a file that has nothing but its head.
    @Test(arguments: files)
    func aFile(_ wrong: Case) {
        let error = Self.error(wrong.text)
        #expect(wrong.fits(error), "\(String(describing: error))")
    }

    @Test func anErrorNamesItsPlaceAndBothTexts() {
        let error = ScenarioError(file: "house.scenario", line: 6, expected: "on", found: "off")
        #expect(error.description == "house.scenario:6: expected on, found off")
    }

    /// The line is the one that set what contradicts, or else the last that set anything.
    @Test(arguments: [
        ("set margin 0\nset scanInterval.known.last 9s", 4, ["margin", "0", "1"]),
        ("set scanInterval.known.last 500ms\nset margin 9", 4, ["scanInterval.known.last", "first"]),
        ("set scanInterval.known.last 9s\nset twoPointFour.weak -85", 5, ["twoPointFour.weak", "-85", "-80"]),
        ("set five.critical -70\nset scanInterval.known.last 9s", 5, ["five.weak", "-76", "-70"]),
    ])
    func settingsThatContradict(settings: String, line: Int, found: [String]) {
        let error = Self.error(Self.head.replacing("network", with: settings + "\nnetwork"))
        #expect(error?.line == line)
        #expect(found.allSatisfy { error?.found.contains($0) == true }, "\(String(describing: error))")
    }

    @Test func moreNetworksThanADeviceCouldKeep() {
        let networks = (1...33).map { "network N\($0) open\n" }.joined()
        let wrong = Case("duration 1h\n" + networks, line: 34, found: #""N33""#, expected: "32")
        #expect(wrong.fits(Self.error(wrong.text)))
    }

    @Test func bytesThatAreNoText() {
        let bytes = Array("title A\n".utf8) + [0xff, 0x0a]
        let error = Self.error(bytes)
        #expect(error?.line == 2 && error?.expected == "UTF-8")
    }

    @Test func aFileAsGreatAsItMayBeAndOneByteMore() {
        let comment = Array(repeating: UInt8(ascii: "#"), count: 64 * 1024 - Self.head.utf8.count)
        #expect(Self.error(Array(Self.head.utf8) + comment) == nil)
        let error = Self.error(Array(Self.head.utf8) + comment + [0x23])
        #expect(error?.line == nil && error?.expected.contains("65536") == true)
    }

    @Test func aWordThatIsTooLongToShowIsCut() {
        let word = String(repeating: "x", count: 100)
        #expect(Self.error(Self.head + "at 1h home \(word)")?.found == "\"\(word.prefix(40))...\"")
    }

    private static func error(_ text: String) -> ScenarioError? { error(Array(text.utf8)) }

    private static func error(_ bytes: [UInt8]) -> ScenarioError? {
        do throws(ScenarioError) {
            _ = try Scenario(parsing: bytes, name: "house", file: "house.scenario")
            return nil
        } catch {
            return error
        }
    }
}
