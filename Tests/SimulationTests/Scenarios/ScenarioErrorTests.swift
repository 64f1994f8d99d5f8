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
        let line: String
        let message: String
        var testDescription: String { line }

        init(_ line: String, _ message: String) {
            self.line = line
            self.message = message
        }
    }

    static let happenings = [
        Case("at 1h home signal abc", #"expected a signal in dBm such as -60, found "abc""#),
        Case("at 1h home signal 60", #"expected a signal in dBm such as -60, found "60""#),
        Case("at 1h home signal", "expected a signal in dBm such as -60, found the end of the line"),
        Case("at 1h home signal -60 over 5", #"expected a time with its unit, such as 90s or 1h30m, found "5""#),
        Case("at 1h home signal -60 slowly", #"expected the end of the line, found "slowly""#),
        Case("at 1h home off off", #"expected the end of the line, found "off""#),
        Case("at 4h home off", #"expected a time before the end at 4h, found "4h""#),
        Case("at 60 home off", #"expected a time before the end at 4h, found "60""#),
        Case("at", "expected a time before the end at 4h, found the end of the line"),
        Case("at 3h59m suspend for 2m", "expected what is over by the end at 4h, found what ends at 4h1m"),
        Case(
            "every 1h from 1h home signal -70 over 1h30m",
            "expected what is over by the end at 4h, found what ends at 4h30m"),
        Case("every 0s from 1h home off", #"expected a time of at least 1ms, such as 10m, found "0s""#),
        Case("every 10m home off", #"expected "from", found "home""#),
        Case(
            "every 10m from 1h until 1h home off",
            #"expected a time after 1h and not after the end at 4h, found "1h""#),
        Case(
            "every 10m from 1h until 5h home off",
            #"expected a time after 1h and not after the end at 4h, found "5h""#),
        Case("every 1ms from 1h home off", "expected at most 10000 happenings, found one more"),
        Case(
            "at 1h attic off",
            #"expected an access point that is there, or "device", "told", "interference", "command", "uplink", "#
                + #""suspend", "supplicant" or "agent", found "attic""#),
        Case("at 1h told Attic open", #"expected a network that the device knows: Home, found "Attic""#),
        Case("at 1h command Attic", #"expected a network that the device knows: Home, found "Attic""#),
        Case(
            "at 1h told Home password short",
            #"expected a password of 8 to 63 printable ASCII characters, found "short""#),
        Case("at 1h told Home", #"expected "password" or "open", found the end of the line"#),
        Case("at 1h uplink wifi", #"expected "wired", "cellular", "other" or "none", found "wifi""#),
        Case("at 1h device moves to 20", #"expected a place in metres such as 20,-5.5, found "20""#),
        Case("at 1h device moves to 20,99999", #"expected a place in metres such as 20,-5.5, found "20,99999""#),
        Case(
            "at 1h interference 2483-2400 loss 30% for 90s",
            #"expected frequencies in MHz such as 2400-2483, found "2483-2400""#),
        Case(
            "at 1h interference 2400-2483 loss 0.3 for 90s",
            #"expected a share of lost frames from 0% to 100%, found "0.3""#),
        Case(
            "at 1h interference 2400-2483 loss 130% for 90s",
            #"expected a share of lost frames from 0% to 100%, found "130%""#),
        Case("at 1h home internet gone", #"expected "online", "captive" or "dead", found "gone""#),
        Case("at 1h home address soon", #"expected a time such as 300ms, or "none", found "soon""#),
        Case("at 1h home not empty", #"expected "full", found "empty""#),
        Case("at 1h supplicant dies", #"expected "back", found the end of the line"#),
        Case("device at 1,1", #"expected "device" before the first "ap", found "device""#),
        Case("network Attic open", #"expected "network" before the first "ap", found "network""#),
        Case(
            "teleport home",
            #"expected "title", "about", "duration", "device", "radio", "set", "network", "ap", "crowd", "at" or "every", "#
                + #"found "teleport""#),
        Case(
            "  indented", #"expected a line that is not indented, as only "about" goes on, found an indented one"#),
        Case("at 1h told \"Home", #"expected a closing quote, found ""Home""#),
        Case("at 1h told \"Home\"password", #"expected a space after the closing quote, found ""Home"password""#),
        Case(
            #"at 1h told "Ho\me" open"#,
            #"expected \\, \" or \x and two hexadecimal digits, found ""Ho\me" open""#),
        Case(#"at 1h told "\x4" open"#, #"expected \\, \" or \x and two hexadecimal digits, found ""\x4" open""#),
        Case(
            #"at 1h told Ho\x6de open"#,
            #"expected quotes around the whole of a word that has quotes or a backslash, found "Ho\x6de""#),
        Case("at 1h home o\u{200b}ff", "expected visible characters, found U+200B"),
        Case("at 1h home \u{1b}[2J", "expected visible characters, found U+1B"),
    ]

    static let accessPoints = [
        Case("ap home Home channel 6 signal -50", #"expected a name that no access point has yet, found "home""#),
        Case("ap two Home", #"expected "channel", found the end of the line"#),
        Case("ap two Home channel 15 signal -50", #"expected a channel on 2.4 or 5 GHz such as 6 or 36, found "15""#),
        Case("ap two Home channel 6", #"expected "signal" or "at", found the end of the line"#),
        Case("ap two Home channel 6 at 1,1 power -30", #"expected "exponent", found the end of the line"#),
        Case(
            "ap two Home channel 6 at 1,1 power -30 exponent 0.5",
            #"expected a path loss exponent from 1 to 8 such as 3.2, found "0.5""#),
        Case(
            "ap two Home channel 6 signal -50 fading 2 fading 3",
            #"expected "password", "open", "shadowing", "internet", "address", "full", "off" or the end of the line, "#
                + #"found "fading""#),
        Case(
            "ap two Home channel 6 signal -50 open password other-word",
            #"expected "shadowing", "fading", "internet", "address", "full", "off" or the end of the line, "#
                + #"found "password""#),
        Case("ap two Home channel 6 signal -50 shadowing 3", #"expected "over", found the end of the line"#),
        Case(
            "ap two Home channel 6 signal -50 fading 3dBi", #"expected decibels from 0 to 60 such as 3.5, found "3dBi""#
        ),
        Case(
            "ap two Other channel 6 signal -50",
            #"expected "password" or "open", as the device knows no network with this name, found the end of the line"#),
        Case(#"ap two "" channel 6 signal -50 open"#, #"expected a network's name of 1 to 32 bytes, found """""#),
        Case(
            "ap two 123456789012345678901234567890123 channel 6 signal -50 open",
            #"expected a network's name of 1 to 32 bytes, found "123456789012345678901234567890123""#),
        Case(
            "crowd flat 501 channels 1 signal -90 to -60 open",
            #"expected a number of access points from 1 to 500, found "501""#),
        Case(
            "crowd flat 500 channels 1 signal -90 to -60 open",
            #"expected at most 500 access points, found one more, flat500"#),
        Case(
            "crowd flat 9 channels 1 signal -60 to -90 open",
            #"expected a signal that is not weaker, such as -60, found "-90""#),
        Case(
            "crowd flat 9 channels 1, signal -90 to -60 open",
            #"expected a channel on 2.4 or 5 GHz such as 6 or 36 or several such as 1,6,11, found "1,""#),
        Case(
            "crowd abcdefghijklmnopqrstuvwxyz123456 9 channels 1 signal -90 to -60 open",
            #"expected a name that is shorter with its number, found "abcdefghijklmnopqrstuvwxyz1234561""#),
    ]

    @Test(arguments: happenings + accessPoints)
    func aLine(_ wrong: Case) {
        #expect(Self.message(Self.head + wrong.line + "\n") == "house.scenario:6: \(wrong.message)")
    }

    /// In a file that has nothing but its head.
    @Test(arguments: [
        ("title\n", ":1: expected some words, found the end of the line"),
        ("title A\ntitle B\n", #":2: expected "title" only once, found "title""#),
        ("duration 0s\n", #":1: expected a duration from 1s to 366d, such as 4h, found "0s""#),
        ("duration 400d\n", #":1: expected a duration from 1s to 366d, such as 4h, found "400d""#),
        ("title A\nnetwork Home open\n", #":2: expected "duration" before it, found "network""#),
        ("radio channels 0\n", #":1: expected a number of channels from 1 to 200, found "0""#),
        ("radio dwell 2s\n", #":1: expected a time from 1ms to 1s, such as 80ms, found "2s""#),
        (
            "radio no-6GHz\n",
            #":1: expected "channels", "dwell", "stations", "no-5GHz" or the end of the line, found "no-6GHz""#
        ),
        ("radio stations 3\n", #":1: expected 1 or 2, found "3""#),
        ("device at 0,0 signs-in 2m\n", #":1: expected a time from 1ms to 60s, such as 4s, found "2m""#),
        ("device at 0,0 idle\n", #":1: expected "busy", "signs-in" or the end of the line, found "idle""#),
        ("set courage 5\n", #":1: expected the name of a setting of the policy, such as "margin", found "courage""#),
        ("set margin 5\nset margin 6\n", #":2: expected a setting that is not set yet, found "margin""#),
        ("set margin 5m\n", #":1: expected decibels from 0 to 60, found "5m""#),
        ("set switchLimit -1\n", #":1: expected a number from 0 to 1000, found "-1""#),
        ("set look 10s\n", #":1: expected the name of a setting of the policy, such as "margin", found "look""#),
        (
            "set scanInterval.known.first 10\n",
            #":1: expected a time with its unit, such as 30s or 1h30m, found "10""#
        ),
        (
            "set scanInterval.known.first\n",
            ":1: expected a time with its unit, such as 30s or 1h30m, found the end of the line"
        ),
        ("set scanInterval.known.first 10s up to 20s\n", #":1: expected the end of the line, found "up""#),
        ("set five.weak 70\n", #":1: expected a signal in dBm such as -70, found "70""#),
        ("set validation maybe\n", #":1: expected on or off, found "maybe""#),
        ("set validation \"on\"\n", #":1: expected on or off, found ""on"""#),
        ("set validation.limit 0s\n", #":1: expected a time of at least 1ms, such as 30s, found "0s""#),
        (
            "duration 1h\nnetwork A open\nnetwork A open\n",
            #":3: expected a network that is not there yet, found "A""#
        ),
        (
            "duration 1h\nnetwork A open preferred\nnetwork B open preferred\n",
            #":3: expected one preferred network only, found "preferred""#
        ),
        (
            "duration 1h\nradio no-5GHz\nnetwork A open\nap a A channel 36 signal -50\n",
            #":4: expected a channel on 2.4 GHz, as the radio has no other, found "36""#
        ),
        (
            "duration 1h\nnetwork A open\nap a A channel 6 at 0,0 power -30 exponent 3\nat 1m a signal -60\n",
            #":4: expected an access point with "signal", as the signal of a follows from its place, found "signal""#
        ),
        ("", #": expected a line that begins with "title", found none"#),
        ("title A\nabout B\nduration 1h\n", #": expected a line that begins with "network", found none"#),
    ])
    func aFile(text: String, message: String) {
        #expect(Self.message(text) == "house.scenario" + message)
    }

    /// The line is the one that set what contradicts, or else the last that set anything.
    @Test(arguments: [
        ("set margin 0\nset scanInterval.known.last 9s", 4, "margin is 0, and has to be 1 at least"),
        (
            "set scanInterval.known.last 500ms\nset margin 9", 4,
            "scanInterval.known.last is shorter than the first wait"
        ),
        (
            "set scanInterval.known.last 9s\nset twoPointFour.weak -85", 5,
            "twoPointFour.weak is -85, not above critical, which is -80"
        ),
        (
            "set five.critical -70\nset scanInterval.known.last 9s", 5,
            "five.weak is -76, not above critical, which is -70"
        ),
    ])
    func settingsThatContradict(settings: String, line: Int, found: String) {
        let text = Self.head.replacing("network", with: settings + "\nnetwork")
        #expect(Self.message(text) == "house.scenario:\(line): expected settings that agree, found that \(found)")
    }

    @Test func moreNetworksThanADeviceCouldKeep() {
        let networks = (1...33).map { "network N\($0) open\n" }.joined()
        #expect(
            Self.message("duration 1h\n" + networks)
                == #"house.scenario:34: expected at most 32 networks, found "N33""#)
    }

    @Test func bytesThatAreNoText() {
        let bytes = Array("title A\n".utf8) + [0xff, 0x0a]
        #expect(Self.message(bytes) == "house.scenario:2: expected UTF-8, found other bytes")
    }

    @Test func aFileAsGreatAsItMayBeAndOneByteMore() {
        let comment = Array(repeating: UInt8(ascii: "#"), count: 64 * 1024 - Self.head.utf8.count)
        #expect(Self.message(Array(Self.head.utf8) + comment) == nil)
        #expect(
            Self.message(Array(Self.head.utf8) + comment + [0x23])
                == "house.scenario: expected at most 65536 bytes, found more")
    }

    @Test func aWordThatIsTooLongToShowIsCut() {
        let word = String(repeating: "x", count: 100)
        #expect(
            Self.message(Self.head + "at 1h home \(word)")?.hasSuffix(#"found "\#(word.prefix(40))...""#) == true)
    }

    private static func message(_ text: String) -> String? { message(Array(text.utf8)) }

    private static func message(_ bytes: [UInt8]) -> String? {
        do throws(ScenarioError) {
            _ = try Scenario(parsing: bytes, name: "house", file: "house.scenario")
            return nil
        } catch {
            return error.description
        }
    }
}
