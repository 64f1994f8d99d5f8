import AgentModel
import CNetlink
import Testing

@testable import Netlink

/// Real messages, read.
@Suite struct RadioDecodingTests {
    private let now = Instant(milliseconds: 1_000_000_000)

    @Test func readsAScanResult() throws {
        let message = try NetlinkMessage(Fixture.home)
        let home = try #require(BSS(message, now: now))
        #expect(home.bssid.description == "02:00:00:00:01:00")
        #expect(home.ssid?.text == "Home")
        #expect(home.frequency.megahertz == 2412)
        #expect((-60 ... -20).contains(home.signal))
        #expect(home.security == .wpa2)
        #expect(home.lastSeen < now)
        #expect(BSS.isAssociated(message))
        // A stamp from the future is cut to the present.
        #expect(BSS(message, now: Instant(milliseconds: 5))?.lastSeen == Instant(milliseconds: 5))
    }

    @Test func readsScanResultsOfOtherKinds() throws {
        let hidden = try NetlinkMessage(Fixture.hidden)
        #expect(BSS(hidden, now: now)?.ssid == nil)
        #expect(BSS(hidden, now: now)?.security == .wpa2)
        #expect(!BSS.isAssociated(hidden))
        #expect(BSS(try NetlinkMessage(Fixture.transition), now: now)?.security == .wpa2wpa3)
        let ones = try #require(BSS(try NetlinkMessage(Fixture.ones), now: now))
        #expect(ones.ssid?.bytes == Array(repeating: 0xff, count: 32))
        #expect(ones.security == .open)
    }

    @Test func readsScanResultsOfPoorDrivers() {
        func result(_ fill: (inout AttributeWriter) -> Void) -> BSS? {
            var attributes = AttributeWriter()
            attributes.putNested(NL80211_ATTR_BSS) { bss in
                bss.put(NL80211_BSS_BSSID, bytes: [2, 0, 0, 0, 1, 0])
                bss.put(NL80211_BSS_FREQUENCY, UInt32(2412))
                fill(&bss)
            }
            return BSS(.nl80211(attributes), now: now)
        }
        let percentage = result {
            $0.put(NL80211_BSS_SIGNAL_UNSPEC, UInt8(80))
            $0.put(NL80211_BSS_SEEN_MS_AGO, UInt32(1500))
        }
        #expect(percentage?.signal == -60)
        #expect(percentage?.lastSeen == Instant(milliseconds: 1_000_000_000 - 1500))
        #expect(percentage?.security == .unknown)
        #expect(result { $0.put(NL80211_BSS_SIGNAL_UNSPEC, UInt8(255)) }?.signal == -50)
        #expect(result { $0.put(NL80211_BSS_SIGNAL_MBM, Int32(-7350)) }?.signal == -73)
        #expect(result { _ in } == nil)
        let beaconOnly = result {
            $0.put(NL80211_BSS_SIGNAL_MBM, Int32(-5000))
            $0.put(NL80211_BSS_INFORMATION_ELEMENTS, bytes: [0, 0])
            $0.put(NL80211_BSS_BEACON_IES, bytes: [0, 2, 0x68, 0x69])
        }
        #expect(beaconOnly?.ssid?.text == "hi")
    }

    @Test func readsAStation() throws {
        let station = try #require(StationInfo(try NetlinkMessage(Fixture.station)))
        #expect(station.signal == -30)
        #expect(station.signalAverage != nil)
        #expect(station.beaconSignalAverage != nil)
        #expect(station.beaconsReceived != nil)
        #expect(station.beaconInterval == .microseconds(102_400))
        #expect(station.beaconLossCount == 0)
        #expect(station.inactive == .milliseconds(160))
        #expect(station.connected == .zero)
        #expect(station.transmitFailed == 0)
        #expect(station.transmitPackets != nil)
        #expect(station.transmitBitRate == 6000)
        #expect(StationInfo(try NetlinkMessage(Fixture.home)) == nil)
    }

    /// Right after the association mac80211 has no average of the beacons yet, and says 0.
    @Test func takesNoAverageForTheStrongestSignalOfAll() throws {
        var attributes = AttributeWriter()
        attributes.putNested(NL80211_ATTR_STA_INFO) { station in
            station.put(NL80211_STA_INFO_SIGNAL, Int8(-58))
            station.put(NL80211_STA_INFO_BEACON_SIGNAL_AVG, Int8(0))
        }
        let station = try #require(StationInfo(.nl80211(attributes)))
        #expect(station.beaconSignalAverage == nil)
        #expect(station.strength == -58)
    }

    @Test func readsAnInterface() throws {
        let interface = try #require(WirelessInterface(try NetlinkMessage(Fixture.interface)))
        #expect(interface.name == "wlan0")
        #expect(interface.index == 5)
        #expect(interface.phy == 1)
        #expect(interface.isStation)
        #expect(interface.address?.description == "02:00:00:00:00:00")
        #expect(interface.ssid == nil)
    }

    @Test func putsARadioTogether() throws {
        let parts = try [
            Fixture.radioFirst, Fixture.radioChannels, Fixture.radioRadar, Fixture.radioDisabled,
            Fixture.radioCombinations, Fixture.radioFeatures,
        ].map { try NetlinkMessage($0) }
        let phy = try #require(Phy(parts))
        #expect(phy.index == 1)
        #expect(phy.name == "phy1")
        #expect(phy.maximumScanSSIDs == 4)
        #expect(phy.signalThresholds == .many)
        #expect(
            phy.channels == [
                Phy.Channel(
                    frequency: Frequency(megahertz: 2412), isDisabled: false, isPassive: false, isRadar: false),
                Phy.Channel(frequency: Frequency(megahertz: 2484), isDisabled: true, isPassive: true, isRadar: false),
                Phy.Channel(frequency: Frequency(megahertz: 5500), isDisabled: true, isPassive: true, isRadar: true),
            ])
        #expect(phy.usableChannels.map(\.frequency.megahertz) == [2412])
        #expect(phy.bands == [.twoPointFour])
        #expect(!phy.combinations.isEmpty)
        #expect(phy.stationConcurrency.channels == 1)
        #expect(Phy([try NetlinkMessage(Fixture.home)]) == nil)

        #expect(!phy.joinsByItself)
        let poor = try #require(Phy([try NetlinkMessage(Fixture.radioChannels)]))
        #expect(poor.maximumScanSSIDs == 1)
        #expect(poor.signalThresholds == .oneAtMost)
        #expect(poor.stationConcurrency == (links: 1, channels: 1))
    }

    /// brcmfmac has CONNECT and no AUTHENTICATE, mac80211 has both.
    @Test func knowsWhoJoins() {
        func phy(_ commands: nl80211_commands...) -> Phy? {
            Phy([
                .nl80211 { attributes in
                    attributes.put(NL80211_ATTR_WIPHY, UInt32(0))
                    attributes.putNested(NL80211_ATTR_SUPPORTED_COMMANDS) { list in
                        for (index, command) in commands.enumerated() { list.put(index + 1, command.rawValue) }
                    }
                }
            ])
        }
        #expect(phy(NL80211_CMD_CONNECT, NL80211_CMD_DISCONNECT)?.joinsByItself == true)
        #expect(phy(NL80211_CMD_CONNECT, NL80211_CMD_AUTHENTICATE)?.joinsByItself == false)
        #expect(phy()?.joinsByItself == false)
    }

    private func channel(_ megahertz: Int, isDisabled: Bool = false) -> Phy.Channel {
        Phy.Channel(
            frequency: Frequency(megahertz: megahertz), isDisabled: isDisabled, isPassive: false, isRadar: false)
    }

    /// The radio of the lab: every channel that Linux knows, those of sensors below 1 GHz among them.
    @Test func looksNowhereBelowWiFi() throws {
        var phy = try #require(Phy([try NetlinkMessage(Fixture.radioChannels)]))
        phy.channels = [channel(902, isDisabled: true), channel(2412), channel(2484, isDisabled: true), channel(5180)]
        #expect(phy.worthScanning.isEmpty, "the kernel knows where")
        phy.channels[0] = channel(902)
        #expect(phy.worthScanning.map(\.megahertz) == [2412, 5180])
    }

    @Test func leavesOutChannelsThatTheRadioDoesNotHave() throws {
        var phy = try #require(Phy([try NetlinkMessage(Fixture.radioChannels)]))
        phy.channels = [channel(5180)]
        let (usual, other) = (Frequency.usual, Frequency(megahertz: 5180))
        #expect(phy.scannable(usual + [other]) == [other])
        #expect(phy.scannable(usual) == usual, "nothing else is left: the kernel's refusal says why")
        #expect(phy.scannable([]).isEmpty)
    }

    @Test func knowsWhetherAnAccessPointFitsBesideAStation() {
        typealias Combination = Phy.InterfaceCombination
        typealias Limit = Combination.Limit
        func channels(_ limits: Limit..., interfaces: Int = 4, channels: Int = 1) -> Int? {
            var phy = Phy([.nl80211 { $0.put(NL80211_ATTR_WIPHY, UInt32(0)) }])!
            phy.combinations = [Combination(limits: limits, maximumInterfaces: interfaces, channels: channels)]
            return phy.channelsBesideAccessPoint
        }
        let station = Limit(maximum: 1, allowsStations: true)
        let point = Limit(maximum: 1, allowsStations: false, allowsAccessPoints: true)
        let either = Limit(maximum: 1, allowsStations: true, allowsAccessPoints: true)
        let two = Limit(maximum: 2, allowsStations: true, allowsAccessPoints: true)
        // As the radio of the Raspberry Pi.
        #expect(channels(station, point) == 1)
        #expect(channels(station, point, channels: 2) == 2)
        #expect(channels(two) == 1)
        #expect(channels(either) == nil && channels(station) == nil && channels(point) == nil)
        #expect(channels(station, point, interfaces: 1) == nil)
        #expect(channels(either, either) == 1)
        #expect(channels(two, channels: 0xffff_ffff) == 0xffff_ffff)
    }

    @Test func opensAccessPointsOnlyWhereItMaySendFirst() throws {
        var phy = try #require(Phy([try NetlinkMessage(Fixture.radioChannels)]))
        func channel(_ megahertz: Int, _ isDisabled: Bool, _ isPassive: Bool, _ isRadar: Bool) -> Phy.Channel {
            Phy.Channel(
                frequency: Frequency(megahertz: megahertz), isDisabled: isDisabled, isPassive: isPassive,
                isRadar: isRadar)
        }
        phy.channels = [
            channel(902, false, false, false), channel(2412, false, false, false), channel(2467, false, true, false),
            channel(2484, true, false, false), channel(5180, false, false, false), channel(5500, false, false, true),
        ]
        #expect(phy.accessPointChannels.map(\.megahertz) == [2412, 5180])
    }

    @Test func countsConcurrentStations() {
        func phy(_ combinations: [Phy.InterfaceCombination]) -> Phy {
            var phy = Phy([.nl80211 { $0.put(NL80211_ATTR_WIPHY, UInt32(0)) }])!
            phy.combinations = combinations
            return phy
        }
        typealias Combination = Phy.InterfaceCombination
        let stations = Combination.Limit(maximum: 2, allowsStations: true)
        let others = Combination.Limit(maximum: 8, allowsStations: false)
        let two = Combination(limits: [stations, others], maximumInterfaces: 3, channels: 2)
        let wide = Combination(
            limits: [Combination.Limit(maximum: 9, allowsStations: true)], maximumInterfaces: 1, channels: 4)
        #expect(phy([wide, two]).stationConcurrency == (links: 2, channels: 2))
        #expect(phy([wide]).stationConcurrency == (links: 1, channels: 4))
        #expect(phy([]).stationConcurrency == (links: 1, channels: 1))
    }

    @Test(arguments: [
        (Fixture.signalLow, RadioEvent.signalLow(-65)),
        (Fixture.signalHigh, .signalHigh(-54)),
        (Fixture.beaconLoss, .beaconLoss),
        (Fixture.connected, .connected(BSSID("02:00:00:00:01:00")!)),
        (Fixture.refused, .connectionFailed(nil, status: nil)),
        (Fixture.lost, .disconnected(reason: 4, byAccessPoint: false)),
        (Fixture.dismissed, .disconnected(reason: 3, byAccessPoint: true)),
        (Fixture.regulatoryCN, .regulatoryChanged(country: "CN")),
        (Fixture.regulatoryWorld, .regulatoryChanged(country: "00")),
        (Fixture.scanFinished, .scanFinished(aborted: false, frequencies: [Frequency(megahertz: 2412)])),
    ])
    func readsAnEvent(_ bytes: [UInt8], _ event: RadioEvent) throws {
        #expect(RadioEvent(try NetlinkMessage(bytes)) == event)
    }

    @Test func readsWhatIsNoEvent() throws {
        #expect(RadioEvent(try NetlinkMessage(Fixture.station)) == nil)
        #expect(RadioEvent(try NetlinkMessage(Fixture.interfaceRemoved)) == nil)
        #expect(RadioEvent(NetlinkMessage(type: 0x20, flags: 0, sequence: 0, port: 0, payload: [])) == nil)
    }

    @Test func readsEventsOfOtherDrivers() {
        func event(_ command: UInt8, _ fill: (inout AttributeWriter) -> Void) -> RadioEvent? {
            RadioEvent(.nl80211(command: command, fill))
        }
        let supervision = UInt8(NL80211_CMD_NOTIFY_CQM.rawValue)
        #expect(
            event(supervision) { attributes in
                attributes.putNested(NL80211_ATTR_CQM) { $0.put(NL80211_ATTR_CQM_RSSI_THRESHOLD_EVENT, UInt32(0)) }
            } == .signalLow(nil))
        #expect(
            event(supervision) { attributes in
                attributes.putNested(NL80211_ATTR_CQM) { $0.put(NL80211_ATTR_CQM_PKT_LOSS_EVENT, UInt32(50)) }
            } == .packetLoss(frames: 50))
        #expect(event(supervision) { $0.putNested(NL80211_ATTR_CQM) { _ in } } == nil)
        let connect = UInt8(NL80211_CMD_CONNECT.rawValue)
        #expect(event(connect) { $0.put(NL80211_ATTR_STATUS_CODE, UInt16(17)) } == .connectionFailed(nil, status: 17))
        #expect(event(connect) { $0.put(NL80211_ATTR_STATUS_CODE, UInt16(0)) } == nil)
        let roam = UInt8(NL80211_CMD_ROAM.rawValue)
        #expect(
            event(roam) { $0.put(NL80211_ATTR_MAC, bytes: [2, 0, 0, 0, 2, 0]) }
                == .connected(BSSID("02:00:00:00:02:00")!))
        #expect(
            event(UInt8(NL80211_CMD_DISCONNECT.rawValue)) { _ in } == .disconnected(reason: nil, byAccessPoint: false))
        let move = UInt8(NL80211_CMD_CH_SWITCH_NOTIFY.rawValue)
        #expect(
            event(move) { $0.put(NL80211_ATTR_WIPHY_FREQ, UInt32(5180)) }
                == .channelChanged(Frequency(megahertz: 5180)))
        #expect(event(move) { _ in } == nil)
    }
}

extension NetlinkMessage {
    static func nl80211(command: UInt8 = 0, _ attributes: AttributeWriter) -> NetlinkMessage {
        let payload = [command, 1, 0, 0] + attributes.bytes
        return NetlinkMessage(type: 0x20, flags: 0, sequence: 0, port: 0, payload: payload[...])
    }

    static func nl80211(command: UInt8 = 0, _ fill: (inout AttributeWriter) -> Void) -> NetlinkMessage {
        var attributes = AttributeWriter()
        fill(&attributes)
        return nl80211(command: command, attributes)
    }
}

@Suite struct ScanTrackerTests {
    @Test func anOrdinaryScan() {
        var scans = ScanTracker()
        scans.request()
        #expect(!scans.isIdle)
        scans.started()
        #expect(scans.accepted() == nil)
        #expect(scans.ended(aborted: false) == false)
        #expect(scans.isIdle)
    }

    @Test func aScanThatEndsBeforeItsAcknowledgement() {
        var scans = ScanTracker()
        scans.request()
        scans.started()
        #expect(scans.ended(aborted: true) == nil)
        #expect(scans.accepted() == true)
        #expect(scans.isIdle)
    }

    @Test func theEndOfAnEarlierScanIsNotOurs() {
        var scans = ScanTracker()
        scans.started()
        scans.request()
        #expect(scans.ended(aborted: false) == nil)
        scans.started()
        #expect(scans.accepted() == nil)
        #expect(scans.ended(aborted: true) == true)
    }

    @Test func aWholeEarlierScanIsNotOurs() {
        var scans = ScanTracker()
        scans.request()
        scans.started()
        #expect(scans.ended(aborted: false) == nil)
        scans.started()
        #expect(scans.accepted() == nil)
        #expect(scans.ended(aborted: false) == false)
    }

    @Test func othersScansAreNothing() {
        var scans = ScanTracker()
        scans.started()
        #expect(scans.ended(aborted: false) == nil)
        #expect(scans.accepted() == nil)
        scans.request()
        scans.forget()
        #expect(scans.isIdle)
        #expect(scans.accepted() == nil)
        #expect(scans.ended(aborted: false) == nil)
    }
}
