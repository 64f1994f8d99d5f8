import Foundation
import Testing

/// Each row and each rule of Docs/failover.md and Docs/handover.md is a test.
///
/// Two tables are tested as tables: every setting of the policy by PolicySettingTests, the promises by PropertyTests.
/// The limits are what the device does not do.
@Suite struct PolicyDocumentTests {
    /// The first words of a row or rule, and the tests that show it.
    private static let shown = """
        # failover.md
        reputation → aCaptiveNetworkIsNotChosenOverASoundOne aFailedNetworkIsTriedAfterTheOthers
        quality → qualityComesBeforePreference takesTheFaintestNetworkRatherThanNone
        *unstable* after others → anotherThatIsAsGoodComesFirstAfterThreeLosses oneThatIsNotAsGoodDoesNot
        the [preferred network] → prefersHomeAmongGoodOnesAndTheStrongerAmongBackups
        [proven] → whatTheKeyHasOpenedComesBeforeWhatIsStronger
        headroom → bandsAreWeighed
        the order of the list → ofEqualNetworksTheFirstInTheListIsJoined

        The best by the ranks → theBestAccessPointOfANetworkIsJoined ofANetworkThatWasNotJustSeenAnyAccessPointWillDo
        A failure to join one → oneBadAccessPointIsNotHeldAgainstTheOthers afterThreeAccessPointsTheNetworkIsToBlame
        If the network itself → aRoundHasTheProvenOneAndOneOther anAccessPointThatCanHardlyBeHeardComesLast
        A network of the same name → theNetworkInUseUnderANewPasswordIsNotTriedWhileTheLinkLives
        A living link is left for → roamsToAStrongerAccessPointOfTheSameNetwork aSaggingLinkIsLeftForItsOwnNetworkSooner

        An access point that offers less → aNetworkWithAPassword aNetworkWithoutAPassword aNameAloneIsNotSeen
        The owner's word → theOwnersWordOfTheSecurityCounts anOpenNetworkIsWhatItsOwnerSays \
        theOwnersWordDoesNotLapse aHashAloneKeepsTheFloor byForceTheSameHomeLosesItsFloor
        SAE and PMF are learned → whatLinksHaveOnThreeDaysIsTheFloor aTwinWithThePasswordTeachesNothingBesideTheRouter \
        anAccessPointThatIsNotProvenSaysNothing nothingIsLearnedFromOWE withoutALookAroundNoDayCounts
        They are forgotten → threeDaysBelowItEndTheFloor onlyProvenAccessPointsEndTheFloorOrKeepIt
        The log and the history → whatLinksHaveOnThreeDaysIsTheFloor threeDaysBelowItEndTheFloor \
        theOwnersWordBeginsAnew

        A failure of an unproven → nothingIsHeldAgainstTheNetworkForAnUnprovenAccessPoint
        Once an unproven one → anotherNetworkComesBeforeDoubtedAccessPoints aLivingLinkIsNotGivenUpForThemTwice
        Before every try → beforeEachTryOfADoubtedAccessPointTheDeviceScans anUnprovenAccessPointHasSixSeconds
        For 1.5 s after a loss → aNewRouterIsJoinedSoonAndBelievedFromThenOn
        Nothing of this holds → theBestAccessPointOfANetworkIsJoined whatHasNoKeyProvesNothing

        An access point seen within 10 s → aBackupJustSeenIsJoinedWithoutAnotherScan
        Otherwise three channels → looksAtTheLatestChannelOfEachNetworkButNotAtTheSilentOne \
        theLikeliestPlaceComesAloneAndThenTheOthers whatIsPoorAtTheLikeliestPlaceWaitsForTheOthers
        Otherwise the channels → everywhereItWasSeenComesNextAndThenEverywhere
        Otherwise all channels → knownChannelsAreLookedAtCloselyAndAllChannelsLater \
        allChannelsAreLookedAtAtOnceWhereANetworkWasNeverSeen
        Known channels again → searchSlowsDownButNeverEnds afterAnHourAllChannelsAreScannedEveryFiveMinutes \
        aLongFullScanWaitsWhereChannelsAreKnown

        2.4 GHz → qualityComesBeforePreference aLinkIsMeasuredAsOftenAsItsStateWants
        5 and 6 GHz → fiveGigahertzHasItsOwnThresholds
        fine → aNewLinkIsMeasuredAfterASecond aLinkIsMeasuredAsOftenAsItsStateWants aCrossingIsAMeasurementAtOnce
        doubtful → aLinkIsMeasuredAsOftenAsItsStateWants aMomentOfWeaknessIsForgiven
        sagging → aSaggingLinkIsLeftForItsOwnNetworkSooner aNetworkThatIsBetterByFarIsTakenSooner
        weak → aWeakLinkIsLeftAfterAMinute aSuspectNetworkIsReasonToLeaveACriticalLinkOnly
        fading → aFadingLinkIsLeftBeforeItIsCritical
        critical → aCriticalLinkIsLeftAfterTenSeconds aSuspectNetworkIsReasonToLeaveACriticalLinkOnly
        A sample outside → aSampleOutOfRangeIsNone aLinkIsFineAgainTwoDecibelsAboveWeak silenceConfirmsNothing
        A fall is → aFadingLinkIsLeftBeforeItIsCritical aWeakLinkThatDoesNotFallIsGivenAMinute
        While the last sample → aLinkIsMeasuredAsOftenAsItsStateWants
        was seen since → aWeakLinkIsLeftOnlyForWhatIsStillThere
        is at or above its *floor* → belowTheFloorIsNoCandidate theLastTwoObservationsCount
        has at least 8 dB → theMarginDecides theMarginCountsAcrossBands

        Where both access points → accessPointsThatPassRequestsOnAreAskedToDoSo \
        oneThatDoesNotAnswerThroughTheOtherIsAskedItself
        Over the air the link is left → whatFailsIsJoinedAnew whatFailsBothWaysHasOneOutcome
        A network with protected → protectedFramesAreLeftByAFrameOrAFastTransition
        Radios with firmware → firmwareThatJoinsByItselfIsToldToJoin

        doubt begins → aDoubtIsAScanOfKnownChannelsAndNotTheNextOneSoSoon
        *sagging* or *weak* is confirmed → aWeakLinkIsScannedForLessAndLessOften
        *fading* or *critical* begins → aCriticalLinkIsScannedForOften
        the link is 3 dB weaker → aLinkThatGotWeakerIsScannedForAtOnce
        sagging or weak → aWeakLinkIsScannedForLessAndLessOften
        fading, critical, less than → aCriticalLinkIsScannedForOften aWayOutIsLookedForEverywhere

        The channels on which → theWayHomeTakesNoLongerThanItHasTo homeOnAnotherChannelIsFound
        It is good if → homeHasToBeGoodWithSomethingToSpare
        It is returned to → returnsWhenHomeIsBackForGood aScanThatMissesIsRepeatedAtOnce \
        aHomeThatComesAndGoesIsNotReturnedTo

        `lan` → isAsDocumented theGatewayDecidesForTheLAN
        `internet` → isAsDocumented
        `target` → isAsDocumented
        If the budget for questions → whatWasNotAskedIsNoStrike itIsAskedAgainWhenItMay \
        aSwitchWaitsForTheAnswerAndCommitsOnlyOnThat
        A link is probed → aNetworkIsProbedWhenItIsUpAndThenAtAnInterval aProbeThatIsNeverAnsweredHasFailed \
        theNextProbeBeginsASecondAfterTheLastOneOrAtItsEnd
        The link is *useless* → aProbeThatGetsThroughNowAndThenProvesNothing internetThatComesAndGoesIsNotTrustedAtOnce
        A *doubt* is sooner → aLinkThatWentSilentIsLeftWithinTenSeconds aDoubtThatIsSettledCostsNothing \
        aFloodOfDoubtsCostsNoMoreThanTheBudget
        While a provider signs in → aLoginPageIsNoVerdictDuringASignIn aSignInThatTakesTooLongHasFailed \
        aWordThatItFailedIsTheVerdict aLoginPageIsNeverTakenForDeadInternet
        A useless or captive link → deadInternetIsLeftForANetworkThatIsSound aLoginPageIsLeftForAnOpenWayOut
        Another access point of the same network → aSiblingIsTriedWhereNothingElseIsThere aGoodLinkToASoundNetworkIsFirst \
        aGoodSiblingIsBeforeAPoorLinkElsewhere aFaintSiblingIsNotTried siblingsAreTriedThreeTimesAtMost \
        theReturnIsToAnotherAccessPoint theBlockIsOfTheNetworksFirstTime
        If all in range lead nowhere → whereAllLeadNowhereTheyTakeTurns
        If there is none → deadInternetIsStayedOnWhereNothingElseIsThere
        A network left so → aNetworkWithoutInternetIsReturnedToLater eachFailureHasItsOwnBackOff
        If a required server → anOutageEverywhereLeadsToFewSwitches

        wrong key → eachFailureHasItsOwnBackOff wrongPasswordNeedsTwoFailuresAndThenBlocks
        access point full → eachFailureHasItsOwnBackOff aFullAccessPointIsLeftAloneUntilItIsCloser
        refused, not found → eachFailureHasItsOwnBackOff
        time-out → eachFailureHasItsOwnBackOff aJoinThatNeverEndsIsGivenUp
        no address and route → eachFailureHasItsOwnBackOff noAddressCountsAsAFailure
        a link to it has its address → aBlockIsForgottenAfterSuccess aLinkThatWasUpEndsTheCount
        an access point completes → aHandshakeEndsWhatWasHeldAgainstTheKey
        its password changes → anotherPasswordIsAnotherNetwork
        it is seen 5 dB stronger → aStrongerSignalEndsAllButAWrongKey
        a scan looked for it in vain → aNetworkThatReappearsGetsAnotherChance oneScanThatMissesABlockedNetworkIsNoReappearance
        an access point of it → anAccessPointThatIsNewGetsItsTurn
        the agent restarts → aRestartEndsWhatIsHeldAgainstANetwork

        intent → eachRowHasItsEffects aPowerCutBetweenAnyTwoRows
        ready → aCommandWaitsForADeviceThatIsStarting
        scan → outOfRangeNeverLeavesTheLink aScanCutShortSaysNothing
        join → aFailedSwitchGoesBack anotherAccessPointOfTheCommandedNetworkMayTakeTheDevice \
        fourAccessPointsAreTriedAndNoMore
        address → aSwitchWithoutAddressGoesBack aFlappingAddressDoesNotKeepASwitchOpen theOldAddressDoesNotCount
        validation → whereNoProbeIsAnsweredItGoesBackWithinTwelveSeconds aCommandDoesNotWaitForEver
        confirmation → theAppConfirmsOverTheNewNetwork aWordThatComesBeforeItIsAskedForCounts
        commit → aCommandedChoiceStandsForTenMinutes theCommandedChoiceIsWhereTheDeviceBelongs

        Time is → aClockThatGoesBackHasNotGoneOn
        **After sleep** → afterSleepTheLinkIsMeasuredAndProbed aJoinThatWasSleptOverGetsItsTime
        **Events that happen at once** → simultaneousEventsHaveNoOrder
        **After the end** → afterTheEndNothingIsWanted
        wpa_supplicant gone → withoutWpaSupplicantTheLinkIsKept aLivingLinkIsNotLeftWhileNothingCanBeJoined
        The interface taken down → anInterfaceThatIsDownIsBroughtUp interfaceDownAndUp
        A scan that has not ended → aScanThatNeverEndsIsGivenUp
        Netlink messages lost → lostMessagesOfTheKernelAreReadAnew

        # handover.md
        `ALTNET_SPARE_INTERFACE` → whatTheRadiosAllow theSpareInterfaceIsMade withoutASpareInterfaceTheDeviceTellsWhy
        A wpa_supplicant for it → aSpareThatIsDownOrHasNoWpaSupplicantIsNotReady
        CAP_NET_ADMIN → runsWithoutPrivileges

        a move is decided → theNextNetworkIsFoundGoodBeforeTheTrafficMoves aWeakLinkIsKeptUntilTheNextOneIsThere
        | in use | waits → theNextNetworkIsFoundGoodBeforeTheTrafficMoves
        if validation is set → theNextNetworkIsFoundGoodBeforeTheTrafficMoves whatALinkIsLeftForIsProvenBefore
        a command with → theAppConfirmsAtTheNewAddress
        done → theNextNetworkIsFoundGoodBeforeTheTrafficMoves
        `ALTNET_SPARE_GRACE_S` later → theNextNetworkIsFoundGoodBeforeTheTrafficMoves
        A failure before that → aFailureLeavesTheDeviceWhereItWas
        The old link lost → theOldLinkLostInTheMiddleMakesItAnOrdinaryJoin
        Another access point → anotherAccessPointOfTheSameNetworkIsJoinedByTheStationInUse
        A commanded switch → aCommandToANetworkWithALoginPageMovesFirst
        After a loss → afterALossTheStationInUseSearches

        5 s after the device → aNetworkIsLookedForAndStandsBy theSameNetworkIsNoStandby \
        aCommandToAnotherNetworkTakesItsPlace
        it has an address → itIsFoundGoodOnceAndNotAskedAgain whatStandsByTakesOverAtALoss
        the link in use is lost → aLossTakesNoScanAndNoJoin anAddressThatIsAwayAtTheLossIsWaitedFor
        the link in use is weak → aWeakLinkIsLeftForItWithoutAJoin aCommandUsesIt
        the link in use is critical → aNetworkThatLeadsNowhereIsLeftForItAtOnce
        a command, or a move → aCommandToAnotherNetworkTakesItsPlace
        it is lost → oneThatIsLostIsLookedForAgainLessAndLessOften oneThatCannotBeJoinedLeavesTheLinkAlone \
        anAddressThatStaysAwayEndsIt aSpareThatGoesAndComesBack
        another uplink → besideACableNothingStandsBy

        over the station in use → theStationInUseComesBeforeBothDHCPClientsRoutes
        for each address → packetsLeaveByTheStationWhoseAddressTheyHave
        where both networks → twoNetworksWithTheSameNumbers
        `arp_ignore` 1 → theStationInUseCarriesTheTrafficAndTheOtherWhatIsItsOwn
        """

    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

    /// Rows and rules of a document in their order, without the headers of tables and the targets of links.
    private static func statements(of document: String) throws -> [Substring] {
        let text = try String(contentsOf: root.appending(path: "Docs/\(document)"), encoding: .utf8)
        let sections = text.split(separator: "\n## ").dropFirst().filter { section in
            !["Every setting", "Promises", "Figures", "Limits"].contains { section.hasPrefix($0) }
        }
        let lines = sections.flatMap { $0.split(separator: "\n") }
        return zip(lines, lines.dropFirst() + [""]).compactMap { line, next -> Substring? in
            let isHeader = line.hasPrefix("|-") || next.hasPrefix("|-")
            guard !isHeader, let mark = line.prefixMatch(of: #/\| |- |\d+\. /#) else { return nil }
            return line[mark.range.upperBound...].replacing(#/\]\([^)]*\)/#, with: "]")
        }
    }

    @Test func eachRowAndRuleIsATest() throws {
        let folder = Self.root.appending(path: "Tests")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var tests: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            let source = try String(contentsOf: file, encoding: .utf8)
            tests.formUnion(source.matches(of: #/func (\w+)\(/#).map { String($0.output.1) })
        }
        for part in Self.shown.split(separator: "# ") {
            let lines = part.split(separator: "\n")
            let entries = lines.dropFirst().map { $0.split(separator: " → ") }
            let statements = try Self.statements(of: String(lines[0]))
            #expect(statements.count == entries.count)
            for (statement, entry) in zip(statements, entries) {
                #expect(statement.hasPrefix(entry[0]), "\(lines[0]) has here: \(statement)")
                for name in entry[1].split(separator: " ") {
                    let isThere = tests.contains(String(name))
                    #expect(isThere, "\(name) is to show: \(statement)")
                }
            }
        }
    }
}
